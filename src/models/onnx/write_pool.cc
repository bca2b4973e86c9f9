#include "models/onnx/write_pool.h"

#include "ops/window.h"

namespace headroom::onnx {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

struct Axis {
  std::int64_t input, output, kernel, stride, reach, pad, pad_end;

  std::int64_t room() const { return input + pad + pad_end - reach; }
  std::int64_t rounded_down() const { return floor_div(room(), stride) + 1; }
  std::int64_t rounded_up() const { return floor_div(room() + stride - 1, stride) + 1; }
  // Padding at the end with which the last window ends there.
  std::int64_t needed_pad() const { return (output - 1) * stride + reach - input - pad; }
};

Axis axis_of(const Window2d& w, bool rows) {
  const auto of = [&](const Extent2d& e) { return rows ? e.h : e.w; };
  return {.input = of(w.input),
          .output = of(w.output),
          .kernel = of(w.kernel),
          .stride = of(w.stride),
          .reach = (of(w.kernel) - 1) * of(w.dilation) + 1,
          .pad = of(w.pad),
          .pad_end = of(w.pad_end)};
}

Window2d window_of(const Problem& p) {
  const Ints kernel = p.attrs.integers("kernel");
  return parse_window(p.attrs, p.inputs[0].shape, kernel.at(0), kernel.at(1), DefaultStride::kernel);
}

}  // namespace

PoolForm pool_form(const Problem& p) {
  const Window2d w = window_of(p);
  const Axis axes[] = {axis_of(w, true), axis_of(w, false)};
  // A mean that counts padding does not count what ceil_mode reads beyond it.
  const bool counts_padding = p.op == "avg_pool" && p.attrs.integer("count_include_pad") != 0;
  PoolForm form{.pads = {w.pad.h, w.pad.w, w.pad_end.h, w.pad_end.w}};
  PoolForm padded = form;
  for (std::size_t a = 0; a < 2; ++a) {
    if (axes[a].rounded_down() == axes[a].output) continue;
    form.ceil_mode |=
        counts_padding || axes[a].needed_pad() >= axes[a].kernel;  // readers want less than that
    padded.pads[a + 2] = axes[a].needed_pad();
  }
  if (!form.ceil_mode) return padded;
  for (const Axis& axis : axes)
    if (axis.rounded_up() != axis.output) form.opset = 22;
  return form;
}

void write_pool(NodeWriter& n) {
  const Window2d w = window_of(n.problem());
  const PoolForm form = pool_form(n.problem());
  Attrs attributes{{"kernel_shape", Ints{w.kernel.h, w.kernel.w}},
                   {"strides", Ints{w.stride.h, w.stride.w}},
                   {"pads", form.pads}};
  if (w.dilation != Extent2d{1, 1}) attributes.set("dilations", Ints{w.dilation.h, w.dilation.w});
  if (form.ceil_mode) attributes.set("ceil_mode", std::int64_t{1});
  if (n.node().op == "max_pool") return n.result("MaxPool", {n.input(0)}, attributes);
  attributes.set("count_include_pad", n.attrs().integer("count_include_pad"));
  n.result("AveragePool", {n.input(0)}, attributes);
}

}  // namespace headroom::onnx
