#include "ops/unary/map_function.cuh"

namespace headroom::cuda {

void piecewise(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
               const void* v, void* out, cudaStream_t stream) {
  using namespace ::headroom::unary;
  const UnaryCall call{dtype, knobs, n, in, v, out, stream};
  switch (function) {
    case Function::abs:
      return call.either<scalar::Abs>();
    case Function::leaky_relu:
      return call.either<scalar::LeakyRelu>();
    case Function::clip:
      return call.either<scalar::Clip>();
    case Function::threshold:
      return call.either<scalar::Threshold>();
    case Function::hard_sigmoid:
      return call.either<scalar::HardSigmoid>();
    case Function::hard_swish:
      return call.either<scalar::HardSwish>();
    default:
      return call.forward<scalar::Neg>();
  }
}

}  // namespace headroom::cuda
