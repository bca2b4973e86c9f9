#include "ops/resize/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/resize/resize.h"

namespace headroom {
namespace resize_cuda_cc {
namespace {

static_assert(sizeof(cuda::ResizeTap) == 24);  // as the workspace of resize.cc has it

cuda::ResizePlace place_of(const std::string& coordinates) {
  if (coordinates == "asymmetric") return cuda::ResizePlace::asymmetric;
  return coordinates == "align_corners" ? cuda::ResizePlace::align_corners : cuda::ResizePlace::half_pixel;
}

cuda::ResizeRounding rounding_of(const Attrs& attrs) {
  using Rounding = cuda::ResizeRounding;
  if (attrs.text("mode", "nearest") == "bilinear") return Rounding::none;
  const std::string name = attrs.text("nearest_mode", "round_prefer_floor");
  if (name == "floor") return Rounding::floor;
  if (name == "ceil") return Rounding::ceil;
  return name == "round_prefer_ceil" ? Rounding::prefer_ceil : Rounding::prefer_floor;
}

cuda::ResizeShape shape_of(const Problem& p) {
  const bool grad = p.op == "resize_grad";
  const Shape &x = (grad ? p.outputs : p.inputs)[0].shape, &y = (grad ? p.inputs : p.outputs)[0].shape;
  return {.planes = x[0] * x[1],
          .rows = static_cast<int>(x[2]),
          .columns = static_cast<int>(x[3]),
          .out_rows = static_cast<int>(y[2]),
          .out_columns = static_cast<int>(y[3]),
          .scale_rows = p.attrs.real("scale_h"),
          .scale_columns = p.attrs.real("scale_w"),
          .place = place_of(p.attrs.text("coordinates", "half_pixel")),
          .rounding = rounding_of(p.attrs)};
}

}  // namespace
}  // namespace resize_cuda_cc

Launcher prepare_resize_cuda(const Problem& p, const LaunchContext&) {
  using namespace resize_cuda_cc;
  return [shape = shape_of(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::resize(dtype, shape, a.inputs[0], static_cast<cuda::ResizeTap*>(a.workspace), a.outputs[0],
                 cuda::stream_of(a));
  };
}

Launcher prepare_resize_grad_cuda(const Problem& p, const LaunchContext&) {
  using namespace resize_cuda_cc;
  return [shape = shape_of(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::resize_grad(dtype, shape, a.inputs[0], static_cast<cuda::ResizeTap*>(a.workspace), a.outputs[0],
                      cuda::stream_of(a));
  };
}

}  // namespace headroom
