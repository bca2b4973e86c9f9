#include "ops/unary/map_function.cuh"

namespace headroom::cuda {

void rare(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
          const void* v, void* out, cudaStream_t stream) {
  using namespace ::headroom::unary;
  const UnaryCall call{dtype, knobs, n, in, v, out, stream};
  switch (function) {
    case Function::floor:
      return call.forward<scalar::Floor>();
    case Function::ceil:
      return call.forward<scalar::Ceil>();
    case Function::round:
      return call.forward<scalar::Round>();
    case Function::sign:
      return call.forward<scalar::Sign>();
    case Function::sin:
      return call.either<scalar::Sin>();
    case Function::cos:
      return call.either<scalar::Cos>();
    default:
      return call.either<scalar::Softplus>();
  }
}

}  // namespace headroom::cuda
