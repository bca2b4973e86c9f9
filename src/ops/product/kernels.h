#pragma once

// The GPU kernels that linear and matmul share; what each is for is told in ops/cuda/gemm.h.

#include "ops/kernel.h"
#include "ops/product/product.h"

namespace headroom {

Verdict accepts_skinny(const Product& product, const Capabilities& capabilities);
Verdict accepts_fp16x3(const Product& product, const Capabilities& capabilities);
Verdict accepts_tf32x3(const Product& product, const Capabilities& capabilities);
Verdict accepts_cublaslt(const Product& product, const Capabilities& capabilities);
Verdict accepts_tiles(const Product& product, const Capabilities& capabilities);

std::size_t skinny_workspace(const Product& product, const Capabilities& capabilities);
std::size_t fp16x3_workspace(const Product& product, const Capabilities& capabilities);
std::size_t tiles_workspace(const Product& product, const Capabilities& capabilities);
std::size_t cublaslt_workspace(const Product& product, const Capabilities& capabilities);

// Shares of the peak of products, and launches, on top of what the schema says must be done.
Work skinny_work(const Product& product, const Capabilities& capabilities, Work least);
Work fp16x3_work(const Product& product, const Capabilities& capabilities, Work least);
Work tiles_work(const Product& product, const Capabilities& capabilities, Work least);
Work cublaslt_work(const Product& product, const Capabilities& capabilities, Work least);

// src/ops/cuda/gemm.cc. The launchers take a, b and, where there is one, the bias; and write c.
Launcher prepare_product_skinny(const Product& product, const Capabilities& capabilities);
Launcher prepare_product_fp16x3(const Product& product, const Capabilities& capabilities);
Launcher prepare_product_tiles(const Product& product, const Capabilities& capabilities);
Launcher prepare_product_cublaslt(const Product& product, const Capabilities& capabilities);

// The entries of an operator whose problems `of` turns into products.
template <Product (*of)(const Problem&, const Capabilities&)>
struct ProductKernels {
  template <Verdict (*accepts)(const Product&, const Capabilities&)>
  static Verdict accept_as(const Problem& p, const Capabilities& c) {
    if (const Verdict verdict = accepts_cuda_floats(p, c); !verdict.ok) return verdict;
    return accepts(of(p, c), c);
  }
  template <Work (*work)(const Product&, const Capabilities&, Work)>
  static Work work_as(const Problem& p, const Capabilities& c) {
    return work(of(p, c), c, least_work(p, c));
  }
  template <std::size_t (*workspace)(const Product&, const Capabilities&)>
  static std::size_t workspace_as(const Problem& p, const Capabilities& c) {
    return workspace(of(p, c), c);
  }
  template <Launcher (*prepare)(const Product&, const Capabilities&)>
  static Launcher prepare_as(const Problem& p, const Capabilities& c) {
    return prepare(of(p, c), c);
  }

  // In order of preference, to stand before the kernels of the CPU.
  static std::vector<Kernel> list() {
    return {{.name = "cuda:skinny",
             .device = DeviceKind::cuda,
             .accepts = accept_as<accepts_skinny>,
             .work = work_as<skinny_work>,
             .prepare = HEADROOM_CUDA(prepare_as<prepare_product_skinny>),
             .workspace = workspace_as<skinny_workspace>,
             .counts = true},
            {.name = "cuda:fp16x3",
             .device = DeviceKind::cuda,
             .accepts = accept_as<accepts_fp16x3>,
             .work = work_as<fp16x3_work>,
             .prepare = HEADROOM_CUDA(prepare_as<prepare_product_fp16x3>),
             .workspace = workspace_as<fp16x3_workspace>},
            {.name = "cuda:tf32x3",
             .device = DeviceKind::cuda,
             .accepts = accept_as<accepts_tf32x3>,
             .work = work_as<tiles_work>,
             .prepare = HEADROOM_CUDA(prepare_as<prepare_product_tiles>),
             .workspace = workspace_as<tiles_workspace>},
            {.name = "cuda:cublaslt",
             .device = DeviceKind::cuda,
             .accepts = accept_as<accepts_cublaslt>,
             .work = work_as<cublaslt_work>,
             .prepare = HEADROOM_CUDA(prepare_as<prepare_product_cublaslt>),
             .workspace = workspace_as<cublaslt_workspace>},
            {.name = "cuda:tiles",
             .device = DeviceKind::cuda,
             .accepts = accept_as<accepts_tiles>,
             .work = work_as<tiles_work>,
             .prepare = HEADROOM_CUDA(prepare_as<prepare_product_tiles>),
             .workspace = workspace_as<tiles_workspace>}};
  }
};

}  // namespace headroom
