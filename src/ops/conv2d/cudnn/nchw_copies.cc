#include "ops/conv2d/cudnn/nchw_copies.h"

#include <utility>

#include "ops/conv2d/cuda/shared.h"
#include "ops/conv2d/cudnn/cudnn.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#include "ops/relayout/cuda.h"
#endif

namespace headroom {
namespace {

Problem in_nchw(Problem p) {
  for (auto* list : {&p.inputs, &p.outputs})
    for (TensorType& type : *list) type.layout = Layout::nchw;
  return p;
}

#ifdef HEADROOM_HAS_CUDA
cuda::Relayout transposition(const TensorType& type, bool to_nchw) {
  const Shape& s = type.shape;
  const std::int64_t plane = s[2] * s[3];
  return to_nchw ? cuda::Relayout{s[0], plane, s[1]} : cuda::Relayout{s[0], s[1], plane};
}
#endif

}  // namespace

bool takes_nchw_copies(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  return conv2d_layout(p) == Layout::nhwc && (c.groups > 1 || c.window.dilation != Extent2d{1, 1});
}

std::size_t nchw_copies_workspace(const Problem& p, const Target& target) {
  const Problem plain = in_nchw(p);
  std::size_t bytes = own_convolution(plain, target).workspace(plain, target);
  for (const TensorType& type : {p.inputs[0], p.inputs[1], p.outputs[0]})
    bytes += align_up(static_cast<std::size_t>(type.bytes()));
  return bytes;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_nchw_copies(const Problem& p, const LaunchContext& context) {
  const Problem plain = in_nchw(p);
  const Launcher run = own_convolution(plain, context.target).prepare(plain, context);
  return [run, first = p.inputs[0], second = p.inputs[1], out = p.outputs[0],
          bias = p.inputs.size() > 2](const LaunchArgs& a) {
    auto* at = static_cast<std::byte*>(a.workspace);
    const auto take = [&](const TensorType& type) {
      return std::exchange(at, at + align_up(static_cast<std::size_t>(type.bytes())));
    };
    void *x = take(first), *w = take(second), *y = take(out);
    const cudaStream_t stream = cuda::stream_of(a);
    cuda::relayout(first.dtype, first.dtype, transposition(first, true), a.inputs[0], x, stream);
    cuda::relayout(second.dtype, second.dtype, transposition(second, true), a.inputs[1], w, stream);
    const void* const inputs[] = {x, w, bias ? a.inputs[2] : nullptr};
    void* const outputs[] = {y};
    run({inputs, outputs, at, a.stream});
    cuda::relayout(out.dtype, out.dtype, transposition(out, false), y, a.outputs[0], stream);
  };
}
#endif

}  // namespace headroom
