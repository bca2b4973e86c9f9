#pragma once

// Who multiplies the matrices of a convolution.

#include <utility>

#include "ops/conv2d/conv2d.h"
#include "ops/cpu/blas.h"
#include "ops/cpu/gemm.h"

namespace headroom {

template <bool kLibrary, class... Args>
void multiply(Args&&... args) {
  if constexpr (kLibrary)
    blas_gemm(std::forward<Args>(args)...);
  else
    gemm(std::forward<Args>(args)...);
}

}  // namespace headroom
