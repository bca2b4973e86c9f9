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
  threshold,
  hard_sigmoid,
  hard_swish,
  exp,
  log,
  sqrt,
  erf,
  elu,
  gelu,
  gelu_tanh,
  floor,
  ceil,
  round,
  sign,
  sin,
  cos,
  softplus
};

// out = f(in), or in * f'(v) where v is given.
void unary(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
           const void* v, void* out, cudaStream_t stream);

// The parts of it, which are compiled apart.
void piecewise(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
               const void* v, void* out, cudaStream_t stream);
void smooth(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
            const void* v, void* out, cudaStream_t stream);

void rare(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
          const void* v, void* out, cudaStream_t stream);

}  // namespace headroom::cuda
