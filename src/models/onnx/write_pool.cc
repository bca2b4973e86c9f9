#include "models/onnx/write_pool.h"

#include "ops/window.h"
#include "ops/window3d.h"

namespace headroom::onnx {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

struct Axis : WindowAxis {
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  std::int64_t room() const { return input + pad + pad_end - reach(); }
  std::int64_t rounded_down() const { return floor_div(room(), stride) + 1; }
  std::int64_t rounded_up() const { return floor_div(room() + stride - 1, stride) + 1; }
  // Padding at the end with which the last window ends there.
  std::int64_t needed_pad() const { return (output - 1) * stride + reach() - input - pad; }
};

// Of images or of volumes, the outer axis first.
std::vector<Axis> axes_of(const Problem& p) {
  const Ints kernel = p.attrs.integers("kernel");
  if (p.inputs[0].shape.rank() == 5) {
    const Window3d w = parse_window3d(p.attrs, p.inputs[0].shape, kernel, DefaultStride::kernel);
    return {{w.depth}, {w.rows}, {w.columns}};
  }
  const Window2d w =
      parse_window(p.attrs, p.inputs[0].shape, kernel.at(0), kernel.at(1), DefaultStride::kernel);
  return {{{w.input.h, w.output.h, w.kernel.h, w.stride.h, w.dilation.h, w.pad.h, w.pad_end.h}},
          {{w.input.w, w.output.w, w.kernel.w, w.stride.w, w.dilation.w, w.pad.w, w.pad_end.w}}};
}

Ints each(const std::vector<Axis>& axes, std::int64_t WindowAxis::*extent) {
  Ints list;
  for (const Axis& axis : axes) list.push_back(axis.*extent);
  return list;
}

}  // namespace

PoolForm pool_form(const Problem& p) {
  const std::vector<Axis> axes = axes_of(p);
  // A mean that counts padding does not count what ceil_mode reads beyond it.
  const bool counts_padding = p.op.starts_with("avg_pool") && p.attrs.integer("count_include_pad") != 0;
  PoolForm form{.pads = each(axes, &WindowAxis::pad)};
  for (const Axis& axis : axes) form.pads.push_back(axis.pad_end);
  PoolForm padded = form;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].rounded_down() == axes[a].output) continue;
    form.ceil_mode |=
        counts_padding || axes[a].needed_pad() >= axes[a].kernel;  // readers want less than that
    padded.pads[a + axes.size()] = axes[a].needed_pad();
  }
  if (!form.ceil_mode) return padded;
  for (const Axis& axis : axes)
    if (axis.rounded_up() != axis.output) form.opset = 22;
  return form;
}

void write_pool(NodeWriter& n) {
  const std::vector<Axis> axes = axes_of(n.problem());
  const PoolForm form = pool_form(n.problem());
  Attrs attributes{{"kernel_shape", each(axes, &WindowAxis::kernel)},
                   {"strides", each(axes, &WindowAxis::stride)},
                   {"pads", form.pads}};
  const Ints dilations = each(axes, &WindowAxis::dilation);
  if (dilations != Ints(axes.size(), 1)) attributes.set("dilations", dilations);
  if (form.ceil_mode) attributes.set("ceil_mode", std::int64_t{1});
  if (n.node().op.starts_with("max_pool")) return n.result("MaxPool", {n.input(0)}, attributes);
  attributes.set("count_include_pad", n.attrs().integer("count_include_pad"));
  n.result("AveragePool", {n.input(0)}, attributes);
}

}  // namespace headroom::onnx
