#include "ops/unary/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/unary/unary.h"

namespace headroom {

Launcher unary_cuda_launcher(std::size_t form, const unary::AttributeValues& attributes, const Problem& p) {
  constexpr std::array<void (*)(std::size_t, const cuda::UnaryCall&), cuda::kUnaryParts> kParts = {
      cuda::run_unary<0>, cuda::run_unary<1>, cuda::run_unary<2>};
  return [run = kParts.at(form % cuda::kUnaryParts), form, attributes, dtype = p.outputs[0].dtype,
          n = p.outputs[0].shape.numel(), backward = p.op.ends_with("_grad")](const LaunchArgs& a) {
    run(form, {dtype, attributes, n, a.inputs[0], backward ? a.inputs[1] : nullptr, a.outputs[0],
               cuda::stream_of(a)});
  };
}

}  // namespace headroom
