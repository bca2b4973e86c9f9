#pragma once

// The GPU kernels that linear, matmul and gemm share; what each is for is told in ops/cuda/gemm.h.

#include "ops/kernel.h"
#include "ops/product/product.h"

namespace headroom {

// One idea for a product, before it is bound to an operator. The launchers take a, b and, where there are
// any, the bias and the matrix that beta scales; and write c.
struct ProductKernel {
  std::string_view name;
  Verdict (*accepts)(const Product&, const Target&);
  Work (*work)(const Product&, const Target&, Work least);  // on top of the least that the schema asks for
  Launcher (*prepare)(const Product&, const LaunchContext&);
  std::size_t (*workspace)(const Product&, const Target&) = nullptr;
  bool shares_counter = false;
  bool vendor = false;
  bool scales = false;  // knows alpha and beta; for the others a pass over c applies them
  bool splits_factors = false;
  Verdict (*pays)(const Product&, const Target&) = nullptr;  // null: wherever it accepts
};
ProductKernel product_outer();
ProductKernel product_skinny();
ProductKernel product_fp16x3();
ProductKernel product_tf32x3();
ProductKernel product_cublaslt();
ProductKernel product_tiles();
ProductKernel product_wgmma();
ProductKernel product_fp16x3_wgmma();
ProductKernel product_fp16_wgmma();
ProductKernel product_fp16x3_rows();
ProductKernel product_bf16x6();
ProductKernel product_fp64_tiles();
ProductKernel product_thin();
ProductKernel product_slices();
ProductKernel product_clusters();
// Rungs of `bench gemm`: one idea each, for people who learn and measure.
ProductKernel product_async_tiles();
ProductKernel product_register_tiles();
ProductKernel product_block_64x16();
ProductKernel product_shared_2d();
ProductKernel product_shared_1d();
ProductKernel product_outputs_4x4();
ProductKernel product_threads_along_rows();
ProductKernel product_threads_along_columns();

// The first of all these that accepts, and pays, of those whose launches may overlap.
ProductKernel product_chosen(const Product& product, const Target& target);

// By "cuda:outer", in builds with CUDA: with a slope the launcher takes, as third input, the output y of that
// activation, of the shape of c; each sum is multiplied by f'.
Launcher prepare_product_outer_slope(const Product& product, Activation slope);

// Of an operator's own description of a product, C without gaps; what else the operator has is for it to add.
template <class Matrices>
Product plain_product(const Matrices& p, const Problem& problem, const Target& target) {
  const DType dtype = problem.outputs[0].dtype;
  return {.dtype = dtype,
          .tf32 = target.policy.tf32 && dtype == DType::f32,
          .trans_a = p.trans_a,
          .trans_b = p.trans_b,
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.n};
}

// The GPU kernels of an operator whose problems `product_of` turns into products, in order of preference, to
// stand before the kernels of the CPU.
using ProductOf = std::function<Product(const Problem&, const Target&)>;
std::vector<Kernel> product_kernels(const ProductOf& product_of);

}  // namespace headroom
