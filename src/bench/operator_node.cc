#include "bench/operator_node.h"

#include <algorithm>

#include "base/half.h"
#include "base/random.h"
#include "ops/stored.h"
#include "plan/tuner.h"

namespace headroom {
namespace {

double element(const Fill& fill, const Philox& random, std::uint64_t i) {
  switch (fill.kind) {
    case Fill::Kind::constant:
      return fill.value;
    case Fill::Kind::positive:
      return 0.05 + random.uniform(i);
    case Fill::Kind::normal:
      return random.normal(i);
    default:
      return double(random.below(i, static_cast<std::uint64_t>(std::max(1.0, fill.value))));
  }
}

template <class T>
T stored_as(DType dtype, double value) {
  return is_16bit(dtype) ? static_cast<T>(half_bits(dtype, value)) : static_cast<T>(value);
}

}  // namespace

std::vector<TensorType> input_types(const Operator& op, const Case& c, DType dtype) {
  std::vector<TensorType> types;
  const std::vector<int>& wide = op.schema.keeps_fp32;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const bool whole = i < c.fills.size() && c.fills[i].kind == Fill::Kind::label;
    const bool kept = is_16bit(dtype) && std::ranges::find(wide, int(i)) != wide.end();
    DType type = whole ? DType::i32 : kept ? DType::f32 : dtype;
    if (i < c.dtypes.size() && c.dtypes[i]) type = *c.dtypes[i];
    types.push_back({c.inputs[i], type, i < c.layouts.size() ? c.layouts[i] : Layout::nchw});
  }
  return types;
}

Case grown_for(DeviceKind device, Case c) {
  constexpr std::int64_t kLargest = 1 << 22, kGrown = 100'000'000;
  if (device == DeviceKind::cpu) return c;
  for (Shape& shape : c.inputs)
    if (shape == Shape{kLargest}) shape = Shape{kGrown};
  return c;
}

OperatorNode::OperatorNode(Device& device, const Operator& op, const Case& c, DType dtype,
                           const Target& target, const Chooser& choose, bool tune)
    : device_(device), storage_(device), arena_(device) {
  Graph graph;
  std::vector<ValueId> inputs;
  const std::vector<TensorType> types = input_types(op, c, dtype);
  for (std::size_t i = 0; i < types.size(); ++i) {
    inputs.push_back(graph.add_value({.name = fmt::format("x{}", i), .type = types[i], .role = Role::input}));
    buffers_.push_back(device.allocate(static_cast<std::size_t>(types[i].bytes())));
    fill(i, i < c.fills.size() ? c.fills[i] : Fill{}, types[i]);
  }
  graph.outputs = graph.add_node(op.schema.name, inputs, c.attrs, op.schema.name);
  Plan plan = plan_operators(graph, dtype, target, choose);
  TuningTable table;
  if (tune) Tuner(device, table).tune(plan);
  executor_ = std::make_unique<Executor>(plan, storage_, arena_);
  for (std::size_t i = 0; i < inputs.size(); ++i) executor_->bind(inputs[i], buffers_[i].data());
}

// Random numbers for the first part, then repeated: drawing a hundred million would take too long.
void OperatorNode::fill(std::size_t i, const Fill& how, const TensorType& type) {
  const std::int64_t stretch = device_.kind() == DeviceKind::cpu ? 1 << 22 : 1 << 18;
  const Philox random(11, i + 1);
  const std::int64_t count = type.shape.numel(), drawn = std::min(count, stretch);
  const std::size_t size = size_of(type.dtype);
  dispatch_stored(type.dtype, [&]<class T>() {
    std::vector<T> values(static_cast<std::size_t>(drawn));
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = stored_as<T>(type.dtype, element(how, random, k));
    T* const to = static_cast<T*>(buffers_[i].data());
    if (count > 0) device_.upload(to, values.data(), size * values.size());
    for (std::int64_t at = drawn; at < count; at += drawn)  // within the device: that is faster
      device_.copy(to + at, to, size * static_cast<std::size_t>(std::min(drawn, count - at)));
  });
}

}  // namespace headroom
