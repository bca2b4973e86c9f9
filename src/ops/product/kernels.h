#pragma once

// The GPU kernels that linear and matmul share; what each is for is told in ops/cuda/gemm.h.

#include "ops/kernel.h"
#include "ops/product/product.h"

namespace headroom {

Verdict accepts_skinny(const Product& product, const Target& target);
Verdict accepts_fp16x3(const Product& product, const Target& target);
Verdict accepts_tf32x3(const Product& product, const Target& target);
Verdict accepts_cublaslt(const Product& product, const Target& target);
Verdict accepts_tiles(const Product& product, const Target& target);

std::size_t skinny_workspace(const Product& product, const Target& target);
std::size_t fp16x3_workspace(const Product& product, const Target& target);
std::size_t tiles_workspace(const Product& product, const Target& target);
std::size_t cublaslt_workspace(const Product& product, const Target& target);

// What each does, on top of the least that the schema asks for.
Work skinny_work(const Product& product, const Target& target, Work least);
Work fp16x3_work(const Product& product, const Target& target, Work least);
Work tiles_work(const Product& product, const Target& target, Work least);
Work cublaslt_work(const Product& product, const Target& target, Work least);

// src/ops/cuda/gemm.cc. The launchers take a, b and, where there is one, the bias; and write c.
Launcher prepare_product_skinny(const Product& product, const LaunchContext& context);
Launcher prepare_product_fp16x3(const Product& product, const LaunchContext& context);
Launcher prepare_product_tiles(const Product& product, const LaunchContext& context);
Launcher prepare_product_cublaslt(const Product& product, const LaunchContext& context);

// The GPU kernels of an operator whose problems `product_of` turns into products, in order of preference, to
// stand before the kernels of the CPU.
using ProductOf = std::function<Product(const Problem&, const Target&)>;
std::vector<Kernel> product_kernels(const ProductOf& product_of);

}  // namespace headroom
