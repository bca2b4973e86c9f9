#include "ops/unary/map_function.cuh"
#include "ops/unary/normal.cuh"

namespace headroom::cuda {

void smooth(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
            const void* v, void* out, cudaStream_t stream) {
  using namespace ::headroom::unary;
  const UnaryCall call{dtype, knobs, n, in, v, out, stream};
  switch (function) {
    case Function::log:
      return call.forward<scalar::Log>();
    case Function::sqrt:
      return call.either<scalar::Sqrt>();
    case Function::erf:
      return call.either<scalar::Erf>();
    case Function::elu:
      return call.either<scalar::Elu>();
    case Function::gelu:
      return call.either<Gelu>();
    case Function::gelu_tanh:
      return call.either<scalar::GeluTanh>();
    default:
      return call.forward<scalar::Exp>();
  }
}

}  // namespace headroom::cuda
