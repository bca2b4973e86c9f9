#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/unary/scalar.h"

namespace headroom::cuda {

// Those of scalar.h.
enum class Function {
  neg,
  abs,
  leaky_relu,
  clip,
  hard_sigmoid,
  hard_swish,
  exp,
  log,
  sqrt,
  erf,
  elu,
  gelu,
  gelu_tanh
};

// out = f(in), or in * f'(v) where v is given.
void unary(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
           const void* v, void* out, cudaStream_t stream);

// The halves of it, which are compiled apart.
void piecewise(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
               const void* v, void* out, cudaStream_t stream);
void smooth(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
            const void* v, void* out, cudaStream_t stream);

}  // namespace headroom::cuda
