#include <cmath>

#include "graph/graph.h"
#include "ops/conv2d/conv2d.h"

namespace headroom {
namespace conv2d_schema_cc {
namespace {

Conv2d parse(const Shape& x, const Shape& w, const Attrs& attrs) {
  if (x.rank() != 4) reject("conv2d takes images as NxCxHxW, not {}", x.str());
  if (w.rank() != 4) reject("conv2d takes weights as MxCxKHxKW, not {}", w.str());
  Conv2d c{.batch = x[0], .channels = x[1], .maps = w[0], .groups = attrs.integer("groups", 1), .window = {}};
  if (c.groups < 1 || c.channels % c.groups != 0 || c.maps % c.groups != 0)
    reject("conv2d of {} channels and {} maps cannot have {} groups", c.channels, c.maps, c.groups);
  if (w[1] != c.group_channels())
    reject("conv2d weights {} expect {} channels per group, the input {} has {}", w.str(), w[1], x.str(),
           c.group_channels());
  c.window = parse_window(attrs, x, w[2], w[3], DefaultStride::one);
  const auto activation = parse_activation(attrs.text("activation"));
  if (!activation) reject("conv2d cannot fuse activation '{}'", attrs.text("activation"));
  c.activation = *activation;
  return c;
}

Shape output_shape(const Conv2d& c) { return {c.batch, c.maps, c.window.output.h, c.window.output.w}; }

constexpr std::string_view kPoolPrefix = "pool_";

Shape pooled_shape(const Conv2d& c) {
  if (!c.pools()) return output_shape(c);
  return {c.batch, c.maps, c.pool.window.output.h, c.pool.window.output.w};
}

BlockPool parse_pool(const Shape& convolved, const Attrs& attrs) {
  const std::string kind = attrs.text("pool");
  if (kind.empty()) return {};
  if (kind != "max" && kind != "avg") reject(Hint{"max or avg"}, "conv2d_block cannot pool by '{}'", kind);
  Attrs own;
  for (const auto& [name, value] : attrs)
    if (name.starts_with(kPoolPrefix)) own.set(name.substr(kPoolPrefix.size()), value);
  const std::vector<std::int64_t> kernel = own.integers("kernel");
  if (kernel.size() != 2)
    reject(Hint{"pool_kernel=[2,2] pools by two"}, "conv2d_block: `pool_kernel` needs two entries, not {}",
           kernel.size());
  return {.kind = kind == "max" ? BlockPool::Kind::max : BlockPool::Kind::avg,
          .window = parse_window(own, convolved, kernel[0], kernel[1], DefaultStride::kernel),
          .count_include_pad = own.integer("count_include_pad") != 0};
}

Conv2d parse_block(const std::vector<TensorType>& in, const Attrs& attrs) {
  Conv2d c = parse(in.at(0).shape, in.at(1).shape, attrs);
  c.bias = attrs.integer("bias") != 0;
  c.norm = attrs.integer("norm") != 0;
  c.residual = attrs.integer("residual") != 0;
  c.epsilon = attrs.real("epsilon", 1e-5);
  if (!(c.epsilon >= 0)) reject(Hint{"1e-5 is usual"}, "conv2d_block: epsilon is {}", c.epsilon);
  c.low = attrs.real("min", c.low), c.high = attrs.real("max", c.high);
  if (std::isnan(c.low) || std::isnan(c.high)) reject("conv2d_block: a bound is not a number");
  if (c.cuts() && c.activation != Activation::none) reject("conv2d_block: both an activation and a range");
  if (in.size() != c.residual_input() + (c.residual ? 1 : 0))
    reject("conv2d_block: {} inputs do not fit its attributes", in.size());
  for (std::size_t i = 2; i < c.residual_input(); ++i)
    if (in[i].shape != Shape{c.maps}) reject("conv2d_block of {} maps with {}", c.maps, in[i].shape.str());
  if (c.residual && in.back().shape != output_shape(c))
    reject("conv2d_block of {} cannot add {}", output_shape(c).str(), in.back().shape.str());
  c.pool = parse_pool(output_shape(c), attrs);
  return c;
}

void require_output(const Conv2d& c, const Shape& dy) {
  if (dy != output_shape(c))
    reject("conv2d gradient {} where the output is {}", dy.str(), output_shape(c).str());
}

// What a gradient node needs of the forward node's attributes, plus the shape it cannot infer.
Attrs with_shape(const Attrs& attrs, const char* name, const Shape& shape) {
  Attrs result = attrs;
  result.set(name, shape.vector());
  return result;
}

}  // namespace
}  // namespace conv2d_schema_cc

bool Conv2d::covers_input() const {
  using namespace conv2d_schema_cc;
  return window.output == Extent2d{1, 1} && window.kernel == window.input && window.pad == Extent2d{0, 0};
}

bool Conv2d::is_pointwise() const {
  using namespace conv2d_schema_cc;
  return window.kernel == Extent2d{1, 1} && window.stride == Extent2d{1, 1} && window.pad == Extent2d{0, 0} &&
         window.pad_end == Extent2d{0, 0};
}

Conv2d parse_conv2d(const Problem& p) {
  using namespace conv2d_schema_cc;
  if (p.op == "conv2d_grad_input") return parse(p.outputs.at(0).shape, p.inputs.at(1).shape, p.attrs);
  if (p.op == "conv2d_grad_weight") return parse(p.inputs.at(0).shape, p.outputs.at(0).shape, p.attrs);
  if (p.op == "conv2d_block") return parse_block(p.inputs, p.attrs);
  Conv2d c = parse(p.inputs.at(0).shape, p.inputs.at(1).shape, p.attrs);
  c.bias = p.inputs.size() > 2;
  return c;
}

std::vector<TensorType> infer_conv2d_block(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace conv2d_schema_cc;
  return {{pooled_shape(parse_block(in, attrs)), in[0].dtype}};
}

Attrs block_pool_attrs(std::string_view pool, const Attrs& attrs) {
  using namespace conv2d_schema_cc;
  Attrs result = {{"pool", std::string(pool == "max_pool" ? "max" : "avg")}};
  for (const auto& [name, value] : attrs) result.set(std::string(kPoolPrefix) + name, value);
  return result;
}

// Where one of them says NHWC, the others lie so, too: in both layouts if they do not say so themselves.
Layout conv2d_layout(const Problem& p) {
  using namespace conv2d_schema_cc;
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list)
      if (type.layout == Layout::nhwc) return Layout::nhwc;
  return Layout::nchw;
}

std::vector<TensorType> infer_conv2d(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace conv2d_schema_cc;
  const Conv2d c = parse(in.at(0).shape, in.at(1).shape, attrs);
  if (in.size() > 2 && in[2].shape != Shape{c.maps})
    reject("conv2d of {} maps with bias {}", c.maps, in[2].shape.str());
  return {{output_shape(c), in[0].dtype}};
}

std::vector<TensorType> infer_conv2d_grad_input(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace conv2d_schema_cc;
  const Shape x(attrs.integers("input_shape"));
  require_output(parse(x, in.at(1).shape, attrs), in.at(0).shape);
  return {{x, in[0].dtype}};
}

std::vector<TensorType> infer_conv2d_grad_weight(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace conv2d_schema_cc;
  const Shape w(attrs.integers("weight_shape"));
  require_output(parse(in.at(0).shape, w, attrs), in.at(1).shape);
  return {{w, in[0].dtype}};
}

// All three products multiply each output position with each weight once.
Cost cost_conv2d(const Problem& p) {
  using namespace conv2d_schema_cc;
  const Conv2d c = parse_conv2d(p);
  Cost cost = traffic(p);
  const double outputs = double(c.batch) * double(c.output_image());
  cost.multiply_add = 2 * outputs * double(c.depth());
  if (c.bias) cost.other += outputs;
  cost.other += outputs * ((c.norm ? 2 : 0) + (c.residual ? 1 : 0) + (c.cuts() ? 2 : 0));
  if (c.pools()) {
    const Extent2d window = c.pool.window.kernel;
    const double mean = c.pool.kind == BlockPool::Kind::avg ? 1 : 0;  // the division
    cost.other += double(c.batch * c.maps * c.pooled_plane()) * (double(window.h * window.w) + mean);
  }
  if (c.activation != Activation::none)
    (c.activation == Activation::relu ? cost.other : cost.special) += outputs;
  return cost;
}

// dx = conv2d_grad_input(dy, w) is linear in both: what comes back to dy is a convolution again.
std::vector<ValueId> gradient_conv2d_grad_input(const GradientContext& c) {
  using namespace conv2d_schema_cc;
  const ValueId dy = c.input(0), w = c.input(1), g = c.output_gradients[0];
  Attrs attrs;
  for (const auto& [name, value] : c.attrs())
    if (name != "input_shape") attrs.set(name, value);
  std::vector<ValueId> gradients = {kNone, kNone};
  if (c.needed[0]) gradients[0] = c.emit("conv2d", {g, w}, attrs);
  if (c.needed[1])
    gradients[1] =
        c.emit("conv2d_grad_weight", {g, dy}, with_shape(attrs, "weight_shape", c.graph.value(w).type.shape));
  return gradients;
}

std::vector<ValueId> gradient_conv2d(const GradientContext& c) {
  using namespace conv2d_schema_cc;
  if (c.attrs().has("activation")) fail("fused nodes come after differentiation");
  const ValueId x = c.input(0), w = c.input(1), dy = c.output_gradients[0];
  const Attrs attrs = c.attrs();
  std::vector<ValueId> gradients = {kNone, kNone};
  if (c.needed[0])
    gradients[0] =
        c.emit("conv2d_grad_input", {dy, w}, with_shape(attrs, "input_shape", c.graph.value(x).type.shape));
  if (c.needed[1])
    gradients[1] =
        c.emit("conv2d_grad_weight", {x, dy}, with_shape(attrs, "weight_shape", c.graph.value(w).type.shape));
  if (c.needed.size() > 2) gradients.push_back(c.needed[2] ? c.emit("bias_grad", {dy}) : kNone);
  return gradients;
}

}  // namespace headroom
