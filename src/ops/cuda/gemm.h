#pragma once

// Matrix products on the GPU. Several kernels, because no one of them is best at everything:
//
//   cuda:outer     sums of at most 16 terms: a classifier's gradient to the layer before. Bound by what it
//                  writes (outer.h).
//   cuda:skinny    outputs with at most 16 rows or columns: the last layer of a classifier and its gradients.
//                  Bound by one pass over the large operand, or by the launch; a tile would be mostly empty.
//   cuda:fp16x3    large products in exact fp32. Libraries do it on the ordinary cores; tensor cores do it
//                  faster with every factor in two parts of fp16, and the sums looked after (gemm_fp16x3.h).
//   cuda:tf32x3    small ones in exact fp32, in two parts of tf32, promoted within the kernel
//                  (gemm_tiles.cuh); what it is faster at, ops/product/cuda/tiles.cc says.
//   cuda:cublaslt  everything else: tf32, 16 bit and fp64 run near the peak of the tensor cores by
//                  instructions that our own kernels do not use, and fp32 at that of the ordinary ones.
//   cuda:tiles     the same kernels as tf32x3 for all types: needs nothing but the driver.
//
// Not chosen by itself until every check on a GPU has passed; by name they run (`kernel` matmul=cuda:wgmma).
// What they take on an H200: docs/ladders.md.
//
//   cuda:wgmma, cuda:fp16x3_wgmma   Hopper's warp-group instructions and bulk copies, in 16 bit and tf32, and
//   in
//                                   exact fp32 (gemm_wgmma.h).
//   cuda:bf16x6                     exact fp32 in three parts of bf16, in the tiles of cuda:tiles.
//   cuda:fp64_tiles                 fp64 in tiles of 128 x 128.
//   cuda:thin                       fp32 with few columns, by clusters of blocks that share k (gemm_thin.h).
//
// Sums are in fp32 (fp64 for fp64), always in the same order: a product has the same bits in every run.

#include <memory>

#include <cuda_runtime_api.h>

#include "ops/product/product.h"

namespace headroom::cuda {

// One batched product by cuBLASLt, bound to its shape: C = f(alpha op(A) op(B) + bias + beta D), row-major.
// D lies as C does; it may be C itself.
// Everything that takes time or memory is done here, nothing in run.
class GemmPlan {
 public:
  struct Problem {
    DType dtype = DType::f32;
    bool tf32 = false;
    bool fp32_c = false;  // factors of 16 bit, C as it was summed
    bool trans_a = false, trans_b = false;
    std::int64_t m = 1, n = 1, k = 1, lda = 1, ldb = 1, ldc = 1;
    std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
    bool bias = false, relu = false;
    double alpha = 1, beta = 0;
  };
  // Throws where cuBLASLt cannot be loaded. Without a suitable algorithm, good() is false.
  GemmPlan(const Problem& problem, std::size_t workspace_bytes);
  ~GemmPlan();
  GemmPlan(GemmPlan&&) noexcept;
  GemmPlan& operator=(GemmPlan&&) noexcept;

  bool good() const;
  // `add` is D; null: C.
  void run(cudaStream_t stream, const void* a, const void* b, void* c, const void* bias, void* workspace,
           const void* add = nullptr) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace headroom::cuda
