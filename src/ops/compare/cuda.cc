#include "ops/compare/cuda.h"

#include "ops/compare/compare.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_compare_cuda(const Problem& p, const LaunchContext&) {
  const Comparison how = comparison_of(p.op);
  return [dtype = p.inputs[0].dtype, how, second = how == Comparison::neither ? 0 : 1,
          loop = cuda::loop_of(p.outputs[0].shape, {p.inputs[0].shape, p.inputs.back().shape})](
             const LaunchArgs& a) {
    cuda::compare(dtype, static_cast<int>(how), loop, a.inputs[0], a.inputs[second], a.out<std::uint8_t>(0),
                  cuda::stream_of(a));
  };
}

}  // namespace headroom
