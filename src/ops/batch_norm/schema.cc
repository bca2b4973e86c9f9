#include "graph/graph.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/channel_view.h"
#include "ops/expect.h"

namespace headroom {
namespace batch_norm_schema_cc {
namespace {

bool is_gradient(std::string_view op) { return op.ends_with("_grad"); }

// Scale, bias and statistics have the type of x, or are fp32 beside an x of 16 bits.
DType parameter_type(const TensorType& x, const TensorType& scale) {
  const bool narrow = x.dtype == DType::f16 || x.dtype == DType::bf16;
  return narrow && scale.dtype == DType::f32 ? DType::f32 : x.dtype;
}

// Inputs first … last - 1 are one number a channel, of type `dtype`.
void expect_channels(std::string_view op, const std::vector<TensorType>& in, const TensorType& x,
                     std::size_t first, std::size_t last, DType dtype) {
  for (std::size_t i = first; i < last; ++i)
    if (in[i] != TensorType{{x.shape[1]}, dtype})
      reject("{}: input {} is {} {}, not one {} for each of the {} channels of {}", op, i,
             name_of(in[i].dtype), in[i].shape.str(), name_of(dtype), x.shape[1], x.shape.str());
}

void expect_x(std::string_view op, const TensorType& x) {
  expect_float(op, x);
  if (x.shape.rank() < 2) reject("{} takes [N, C, …], not {}", op, x.shape.str());
}

// What a pass may fold in: relu, alone or after the sum with a residual input of the shape of x.
void expect_activation(std::string_view op, const std::vector<TensorType>& in, const Attrs& attrs) {
  const std::string activation = attrs.text("activation");
  if (!activation.empty() && activation != "relu") reject("{} cannot fuse activation '{}'", op, activation);
  if (in.size() == 6 && activation.empty()) reject("{}: a residual input is added before relu alone", op);
  if (in.size() == 6) expect_same(op, in[0], in[5]);
}

void expect_epsilon(std::string_view op, const Attrs& attrs) {
  const double epsilon = attrs.real("epsilon", 1e-5);
  if (!(epsilon >= 0)) reject(Hint{"1e-5 is usual"}, "{}: epsilon is {}", op, epsilon);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "batch_norm";
  expect_inputs(kOp, in, in.size() == 6 ? 6 : 5);
  expect_x(kOp, in[0]);
  expect_channels(kOp, in, in[0], 1, 5, parameter_type(in[0], in[1]));
  expect_activation(kOp, in, attrs);
  expect_epsilon(kOp, attrs);
  const double momentum = attrs.real("momentum", 0.1);
  if (!(momentum >= 0 && momentum <= 1))
    reject(Hint{"the weight of the newest batch; 0.1 is usual"}, "{}: momentum is {}, not within [0, 1]", kOp,
           momentum);
  if (in[0].shape.numel() == in[0].shape[1])
    reject(Hint{"train with a batch of 2 or more"}, "{}: {} has one value per channel, so it has no variance",
           kOp, in[0].shape.str());
  const TensorType saved{{in[0].shape[1]}, DType::f64};
  return {in[0], in[3], in[4], saved, saved};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "batch_norm_grad";
  const bool relu = attrs.text("activation") == "relu", residual = attrs.integer("residual") != 0;
  if (attrs.has("activation") && !relu) reject("{} cannot fuse '{}'", kOp, attrs.text("activation"));
  if (residual && !relu) reject("{}: a residual connection ends in relu", kOp);
  expect_inputs(kOp, in, !relu ? 5 : !residual ? 6 : in.size() == 8 ? 8 : 7);
  expect_x(kOp, in[1]);
  expect_same(kOp, in[0], in[1]);
  const DType type = parameter_type(in[1], in[2]);
  expect_channels(kOp, in, in[1], 2, 3, type);
  expect_channels(kOp, in, in[1], 3, 5, DType::f64);
  if (relu) expect_channels(kOp, in, in[1], 5, 6, type);
  for (std::size_t i = 6; i < in.size(); ++i) expect_same(kOp, in[i], in[1]);
  std::vector<TensorType> out = {in[1], in[2], in[2]};
  if (residual) out.push_back(in[1]);
  return out;
}

std::vector<TensorType> infer_inference(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "batch_norm_inference";
  expect_inputs(kOp, in, in.size() == 6 ? 6 : 5);
  expect_x(kOp, in[0]);
  expect_channels(kOp, in, in[0], 1, 5, parameter_type(in[0], in[1]));
  expect_activation(kOp, in, attrs);
  expect_epsilon(kOp, attrs);
  return {in[0]};
}

std::vector<TensorType> infer_inference_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "batch_norm_inference_grad";
  expect_inputs(kOp, in, 5);
  expect_x(kOp, in[1]);
  expect_same(kOp, in[0], in[1]);
  expect_channels(kOp, in, in[1], 2, 5, parameter_type(in[1], in[2]));
  expect_epsilon(kOp, attrs);
  return {in[1], in[2], in[2]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.inputs[0].shape.numel());
  c.special = p.op == "batch_norm_grad" ? 0 : static_cast<double>(p.inputs[0].shape[1]);
  if (p.op == "batch_norm_inference") {
    c.multiply_add = 2 * n, c.other = n;
  } else if (p.op == "batch_norm_inference_grad") {
    c.multiply_add = 3 * n, c.other = 2 * n;  // the two sums, and a product for dx
  } else if (p.op == "batch_norm_grad") {
    c.multiply_add = 6 * n, c.other = 2 * n;
  } else {
    c.multiply_add = 4 * n, c.other = 3 * n;
  }
  if (p.attrs.has("activation")) c.other += n;
  for (std::size_t i = 5; i < p.inputs.size(); ++i)  // residual inputs
    if (p.inputs[i].shape == p.inputs[0].shape) c.other += n;
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  if (c.attrs().has("activation")) fail("fused nodes come after differentiation");
  std::vector<ValueId> all(5, kNone);
  if (c.output_gradients[0] == kNone) return all;  // statistics alone reach the loss: constants by definition
  const auto d = c.emit_all("batch_norm_grad",
                            {c.output_gradients[0], c.input(0), c.input(1), c.output(3), c.output(4)});
  std::copy(d.begin(), d.end(), all.begin());
  return all;
}

std::vector<ValueId> gradient_inference(const GradientContext& c) {
  if (c.attrs().has("activation")) fail("fused nodes come after differentiation");
  auto d = c.emit_all("batch_norm_inference_grad",
                      {c.output_gradients[0], c.input(0), c.input(1), c.input(3), c.input(4)}, c.attrs());
  d.resize(5, kNone);
  return d;
}

std::vector<int> aliases(const Problem&) { return {-1, 3, 4, -1, -1}; }

}  // namespace
}  // namespace batch_norm_schema_cc

Channels channels_of(const Problem& p) {
  using namespace batch_norm_schema_cc;
  const ChannelView x = channel_view(p.inputs[is_gradient(p.op) ? 1 : 0]);
  return {.rows = x.rows,
          .channels = x.channels,
          .plane = x.plane,
          .epsilon = p.attrs.real("epsilon", 1e-5),
          .momentum = p.attrs.real("momentum", 0.1)};
}

FoldedGradient folded_gradient(const Problem& p) {
  using namespace batch_norm_schema_cc;
  if (p.op != "batch_norm_grad") return {};
  return {.relu = p.attrs.has("activation"),
          .residual = p.attrs.integer("residual") != 0,
          .summed = p.inputs.size() > 7};
}

OpSchema batch_norm_schema() {
  using namespace batch_norm_schema_cc;
  return {.name = "batch_norm",
          .infer = infer,
          .cost = cost,
          .gradient = gradient,
          .aliases = aliases,
          .keeps_fp32 = {1, 2, 3, 4},
          .has_products = false};
}
OpSchema batch_norm_grad_schema() {
  using namespace batch_norm_schema_cc;
  return {.name = "batch_norm_grad",
          .infer = infer_grad,
          .cost = cost,
          .keeps_fp32 = {2, 5},
          .has_products = false};
}
OpSchema batch_norm_inference_schema() {
  using namespace batch_norm_schema_cc;
  return {.name = "batch_norm_inference",
          .infer = infer_inference,
          .cost = cost,
          .gradient = gradient_inference,
          .keeps_fp32 = {1, 2, 3, 4},
          .has_products = false};
}
OpSchema batch_norm_inference_grad_schema() {
  using namespace batch_norm_schema_cc;
  return {.name = "batch_norm_inference_grad",
          .infer = infer_inference_grad,
          .cost = cost,
          .keeps_fp32 = {2, 3, 4},
          .has_products = false};
}

}  // namespace headroom
