#include "ops/pad/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/pad/pad.h"

namespace headroom {
namespace pad_cuda_cc {
namespace {

cuda::PadAxes axes_of(const Problem& problem) {
  const PadProblem p = pad_problem(problem);
  using Mode = cuda::PadAxes::Mode;
  cuda::PadAxes axes{.mode = p.mode == PadMode::constant ? Mode::constant
                             : p.mode == PadMode::edge   ? Mode::edge
                                                         : Mode::reflect,
                     .value = p.value};
  const auto add = [&](std::int64_t input, std::int64_t output, std::int64_t before) {
    axes.input[axes.rank] = input, axes.output[axes.rank] = output, axes.before[axes.rank] = before;
    ++axes.rank;
  };
  for (const PadAxis& axis : p.axes) add(axis.input, axis.output, axis.before);
  if (p.run > 1) add(p.run, p.run, 0);  // then an axis of the tensor is not among the others
  return axes;
}

}  // namespace
}  // namespace pad_cuda_cc

Launcher prepare_pad_cuda(const Problem& p, const LaunchContext&) {
  using namespace pad_cuda_cc;
  return [axes = axes_of(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::pad(dtype, axes, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

Launcher prepare_pad_grad_cuda(const Problem& p, const LaunchContext&) {
  using namespace pad_cuda_cc;
  return [axes = axes_of(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::pad_grad(dtype, axes, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
