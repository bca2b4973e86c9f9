#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/unary/functions.h"

namespace headroom::cuda {

// One launch: out = f(in), or in * f'(v) where v is given.
struct UnaryCall {
  DType dtype;
  unary::AttributeValues attributes;
  std::int64_t n;
  const void *in, *v;
  void* out;
  cudaStream_t stream;
};

// Three source files compile the functions, to share the compiler's time: file `part` has those whose place
// in AllForms is `part` modulo kUnaryParts.
inline constexpr std::size_t kUnaryParts = 3;
template <std::size_t part>
void run_unary(std::size_t form, const UnaryCall& call);

extern template void run_unary<0>(std::size_t form, const UnaryCall& call);
extern template void run_unary<1>(std::size_t form, const UnaryCall& call);
extern template void run_unary<2>(std::size_t form, const UnaryCall& call);

}  // namespace headroom::cuda
