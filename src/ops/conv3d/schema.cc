#include "graph/graph.h"
#include "ops/conv3d/conv3d.h"
#include "ops/expect.h"
#include "ops/window.h"

namespace headroom {
namespace conv3d_schema_cc {
namespace {

Conv3d parse(const Shape& x, const Shape& w, const Attrs& attrs) {
  if (x.rank() != 5) reject("conv3d takes volumes as NxCxDxHxW, not {}", x.str());
  if (w.rank() != 5) reject("conv3d takes weights as MxCxKDxKHxKW, not {}", w.str());
  Conv3d c{.batch = x[0], .channels = x[1], .maps = w[0], .groups = attrs.integer("groups", 1), .window = {}};
  if (c.groups < 1 || c.channels % c.groups != 0 || c.maps % c.groups != 0)
    reject("conv3d of {} channels and {} maps cannot have {} groups", c.channels, c.maps, c.groups);
  if (w[1] != c.group_channels())
    reject("conv3d weights {} expect {} channels per group, the input {} has {}", w.str(), w[1], x.str(),
           c.group_channels());
  c.window = parse_window3d(attrs, x, {w[2], w[3], w[4]}, DefaultStride::one);
  return c;
}

Shape output_shape(const Conv3d& c) {
  const Window3d& w = c.window;
  return {c.batch, c.maps, w.depth.output, w.rows.output, w.columns.output};
}

void require_output(const Conv3d& c, const Shape& dy) {
  if (dy != output_shape(c))
    reject("conv3d gradient {} where the output is {}", dy.str(), output_shape(c).str());
}

// What a gradient node needs of the forward node's attributes, plus the shape it cannot infer.
Attrs with_shape(const Attrs& attrs, const char* name, const Shape& shape) {
  Attrs result = attrs;
  result.set(name, shape.vector());
  return result;
}

}  // namespace
}  // namespace conv3d_schema_cc

Conv3d parse_conv3d(const Problem& p) {
  using namespace conv3d_schema_cc;
  if (p.op == "conv3d_grad_input") return parse(p.outputs.at(0).shape, p.inputs.at(1).shape, p.attrs);
  if (p.op == "conv3d_grad_weight") return parse(p.inputs.at(0).shape, p.outputs.at(0).shape, p.attrs);
  Conv3d c = parse(p.inputs.at(0).shape, p.inputs.at(1).shape, p.attrs);
  c.bias = p.inputs.size() > 2;
  return c;
}

std::vector<TensorType> infer_conv3d(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace conv3d_schema_cc;
  const Conv3d c = parse(in.at(0).shape, in.at(1).shape, attrs);
  if (in.size() > 2 && in[2].shape != Shape{c.maps})
    reject("conv3d of {} maps with bias {}", c.maps, in[2].shape.str());
  return {{output_shape(c), in[0].dtype}};
}

std::vector<TensorType> infer_conv3d_grad_input(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace conv3d_schema_cc;
  const TensorType x{Shape(attrs.integers("input_shape")), in.at(0).dtype};
  expect_not_empty("conv3d_grad_input", {x});
  require_output(parse(x.shape, in.at(1).shape, attrs), in[0].shape);
  return {x};
}

std::vector<TensorType> infer_conv3d_grad_weight(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace conv3d_schema_cc;
  const Shape w(attrs.integers("weight_shape"));
  require_output(parse(in.at(0).shape, w, attrs), in.at(1).shape);
  return {{w, in[0].dtype}};
}

// All three products multiply each output position with each weight once.
Cost cost_conv3d(const Problem& p) {
  const Conv3d c = parse_conv3d(p);
  Cost cost = traffic(p);
  const double outputs = double(c.batch) * double(c.maps) * double(c.window.outputs());
  cost.multiply_add = 2 * outputs * double(c.depth());
  if (c.bias) cost.other += outputs;
  return cost;
}

// dx = conv3d_grad_input(dy, w) is linear in both: what comes back to dy is a convolution again.
std::vector<ValueId> gradient_conv3d_grad_input(const GradientContext& c) {
  using namespace conv3d_schema_cc;
  const ValueId dy = c.input(0), w = c.input(1), g = c.output_gradients[0];
  Attrs attrs;
  for (const auto& [name, value] : c.attrs())
    if (name != "input_shape") attrs.set(name, value);
  std::vector<ValueId> gradients = {kNone, kNone};
  if (c.needed[0]) gradients[0] = c.emit("conv3d", {g, w}, attrs);
  if (c.needed[1])
    gradients[1] =
        c.emit("conv3d_grad_weight", {g, dy}, with_shape(attrs, "weight_shape", c.graph.value(w).type.shape));
  return gradients;
}

std::vector<ValueId> gradient_conv3d(const GradientContext& c) {
  using namespace conv3d_schema_cc;
  const ValueId x = c.input(0), w = c.input(1), dy = c.output_gradients[0];
  std::vector<ValueId> gradients = {kNone, kNone};
  if (c.needed[0])
    gradients[0] = c.emit("conv3d_grad_input", {dy, w},
                          with_shape(c.attrs(), "input_shape", c.graph.value(x).type.shape));
  if (c.needed[1])
    gradients[1] = c.emit("conv3d_grad_weight", {x, dy},
                          with_shape(c.attrs(), "weight_shape", c.graph.value(w).type.shape));
  if (c.needed.size() > 2) gradients.push_back(c.needed[2] ? c.emit("bias_grad", {dy}) : kNone);
  return gradients;
}

}  // namespace headroom
