#include "plan/executor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/spans.h"
#include "plan/streams.h"

namespace headroom {
namespace {

const SpanName kCapturedSpan{"launch a captured step"}, kCaptureSpan{"capture a step"};

// Where the event of the last step of a branch is found, beside those of steps.
constexpr int end_of_branch(std::size_t branch) { return -static_cast<int>(branch); }

const SpanName& span_of(Phase phase) {
  static const std::array names = {SpanName("forward"), SpanName("backward"), SpanName("step")};
  return names[static_cast<std::size_t>(phase)];
}

// A tensor of any type, as fp64.
std::vector<double> widened(const TensorType& type, const void* data) {
  const auto count = static_cast<std::size_t>(type.shape.numel());
  if (type.dtype == DType::f16 || type.dtype == DType::bf16) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = half_value(type.dtype, static_cast<const std::uint16_t*>(data)[i]);
    return values;
  }
  if (!is_float(type.dtype))
    return ConstantData{type, {std::shared_ptr<const void>(), static_cast<const std::byte*>(data)}}.reals();
  return dispatch_float(type.dtype, [&]<class T>() {
    const T* values = static_cast<const T*>(data);
    return std::vector<double>(values, values + count);
  });
}

// Address of a value that the caller has bound; null if it has not.
void* at(const void* data, const Slot& slot) {
  return data == nullptr ? nullptr : static_cast<std::byte*>(const_cast<void*>(data)) + slot.offset;
}

// For each input of a node: whoever runs the plan brings it.
std::vector<bool> from_outside(const Graph& graph, NodeId node) {
  std::vector<bool> outside;
  for (const ValueId in : graph.node(node).inputs) outside.push_back(graph.value(in).role == Role::input);
  return outside;
}

}  // namespace

void Arena::reserve(std::size_t bytes) {
  if (bytes <= buffer_.bytes()) return;
  buffer_ = {};  // free first: the old and the new buffer need not coexist
  buffer_ = device_->allocate(bytes);
}

Executor::Executor(const Plan& plan, Storage& storage, Arena& arena, Groups* groups)
    : plan_(plan), storage_(storage), arena_(arena) {
  arena_.reserve(plan_.arena_bytes);
  LaunchContext context{.target = plan_.binding.target, .device = &storage.device(), .groups = groups};
  inputs_.resize(plan_.graph.values().size(), nullptr);
  for (const Step& step : plan_.steps) {
    if (step.kernel == nullptr)
      reject("layer '{}': operator '{}' has no kernel yet", plan_.graph.node(step.node).layer,
             step.problem.op);
    if (step.kernel->prepare == nullptr)
      reject("layer '{}': kernel '{}' is not built for this machine", plan_.graph.node(step.node).layer,
             step.kernel->name);
    context.variant = step.variant;
    context.from_outside = from_outside(plan_.graph, step.node);
    bound_.push_back({.launch = step.kernel->prepare(step.problem, context),
                      .inputs = std::vector<const void*>(step.inputs.size()),
                      .outputs = std::vector<void*>(step.outputs.size()),
                      .workspace_offset = step.workspace_offset,
                      .has_workspace = step.workspace > 0});
  }
}

// Pointers change when another plan enlarges the arena or when an input is bound to another address. Steps do
// not change.
void Executor::resolve() {
  captured_.clear();
  auto address = [&](const Slot& slot) -> void* {
    switch (slot.where) {
      case Slot::Where::arena:
        return arena_.data() + slot.offset;
      case Slot::Where::storage:
        return static_cast<std::byte*>(storage_.data(plan_.graph.value(slot.value).name)) + slot.offset;
      case Slot::Where::bound:
        return at(inputs_[static_cast<std::size_t>(slot.value)], slot);
    }
    return nullptr;
  };
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    for (std::size_t i = 0; i < bound_[s].inputs.size(); ++i)
      bound_[s].inputs[i] = address(plan_.steps[s].inputs[i]);
    for (std::size_t i = 0; i < bound_[s].outputs.size(); ++i)
      bound_[s].outputs[i] = address(plan_.steps[s].outputs[i]);
  }
  for (ValueId id : plan_.graph.with_role(Role::input)) require_bound(id);
  resolved_for_ = arena_.data();
  resolved_ = true;
}

void Executor::require_bound(ValueId input) const {
  if (inputs_[static_cast<std::size_t>(input)] != nullptr) return;
  for (const Step& step : plan_.steps)
    for (const Slot& slot : step.inputs)
      if (slot.where == Slot::Where::bound && slot.value == input)
        fail("input '{}' was not bound before the run", plan_.graph.value(input).name);
}

void Executor::bind(ValueId input, const void* data) {
  const void*& place = inputs_.at(static_cast<std::size_t>(input));
  if (place == data) return;
  place = data;
  auto is_it = [&](const Slot& slot) { return slot.where == Slot::Where::bound && slot.value == input; };
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    for (std::size_t i = 0; i < bound_[s].inputs.size(); ++i)
      if (const Slot& slot = plan_.steps[s].inputs[i]; is_it(slot)) bound_[s].inputs[i] = at(data, slot);
    for (std::size_t i = 0; i < bound_[s].outputs.size(); ++i)  // in-place update of the caller's own data
      if (const Slot& slot = plan_.steps[s].outputs[i]; is_it(slot)) bound_[s].outputs[i] = at(data, slot);
  }
}

// A kernel knows what it refuses in the data, but not where it runs.
void Executor::launch(std::size_t step, Stream& stream) {
  const Bound& b = bound_[step];
  try {
    b.launch({b.inputs.data(), b.outputs.data(),
              b.has_workspace ? arena_.data() + b.workspace_offset : nullptr, &stream});
  } catch (const Error& e) {
    const std::string& layer = plan_.graph.node(plan_.steps[step].node).layer;
    if (e.blame() != Blame::request || layer.empty()) throw;
    throw Error(e.blame(), fmt::format("layer '{}': {}", layer, e.what()), Hint{e.hint()});
  }
}

// Queues all steps on the streams the plan gives them. Use only for capture: the streams become branches of
// one captured graph, which begins and ends on the first stream.
void Executor::run_forked(Recorders recorders) {
  Device& device = storage_.device();
  const std::array<Stream*, kMaxStreams> streams = {&device.stream(), &device.side_stream(),
                                                    &device.third_stream()};
  std::array<bool, kMaxStreams> forked = {};
  for (const std::size_t s : queue_order(plan_)) {
    const Step& step = plan_.steps[s];
    const auto branch = static_cast<std::size_t>(step.stream);
    Stream& stream = *streams[branch];
    forked[branch] = true;
    for (int before : step.waits) over_.at(before)->hold(stream);
    for (Recorder* recorder : recorders) recorder->begin(s, stream);
    launch(s, stream);
    for (Recorder* recorder : recorders) recorder->end(s, stream);
    if (const auto mark = over_.find(static_cast<int>(s)); mark != over_.end()) mark->second->record(stream);
  }
  for (std::size_t b = 1; b < streams.size(); ++b)
    if (forked[b])
      over_.at(end_of_branch(b))->record(*streams[b]), over_.at(end_of_branch(b))->hold(*streams[0]);
}

Captured* Executor::captured(const Inputs& key, Recorders recorders, const std::function<void()>& work) {
  if (!resolved()) resolve();
  if (!std::ranges::equal(heard_by_, recorders)) {  // the captures were made for other recorders
    drop_captures();
    heard_by_.assign(recorders.begin(), recorders.end());
  }
  auto it = captured_.find(key);
  if (it == captured_.end()) {
    if (captured_.size() >= kMaxCaptures) captured_.clear();
    Device& device = storage_.device();
    for (const Step& step : plan_.steps)
      for (int before : step.waits) over_.try_emplace(before, device.make_event());
    for (std::size_t b = 1; b < kMaxStreams; ++b) over_.try_emplace(end_of_branch(b), device.make_event());
    const Span span(kCaptureSpan, SpanKind::setup);
    it = captured_.emplace(key, device.capture(work)).first;
    ++captures_;
  }
  return it->second.get();
}

void Executor::run_captured(Recorders recorders) {
  if (Captured* const whole = captured(inputs_, recorders, [&] { run_forked(recorders); })) {
    const Span span(kCapturedSpan, SpanKind::phase);
    return whole->launch();
  }
  capture_ = false;  // the device cannot capture
  run(recorders);
}

void Executor::bind_all(const Inputs& inputs) {
  for (std::size_t id = 0; id < inputs.size(); ++id) bind(static_cast<ValueId>(id), inputs[id]);
}

void Executor::run_together(std::span<const Inputs> runs) {
  if (capture_ && warm_ && runs.size() > 1) {
    key_.clear();
    for (const Inputs& run : runs) key_.insert(key_.end(), run.begin(), run.end());
    bind_all(runs.front());  // before pointers are resolved
    Captured* const all = captured(key_, {}, [&] {
      for (const Inputs& run : runs) {
        bind_all(run);
        run_forked({});
      }
    });
    bind_all(runs.back());
    if (all != nullptr) {
      const Span span(kCapturedSpan, SpanKind::phase);
      return all->launch();
    }
  }
  for (const Inputs& each : runs) {
    bind_all(each);
    run();
  }
}

void Executor::run(Recorders recorders) {
  const auto hears = [](const Recorder* recorder) { return recorder->hears_captures(); };
  if (capture_ && warm_ && std::ranges::all_of(recorders, hears)) return run_captured(recorders);
  warm_ = true;
  for (Phase phase : {Phase::forward, Phase::backward, Phase::update}) run_phase(phase, recorders);
}

void Executor::run_phase(Phase phase, Recorders recorders) {
  const Span span(span_of(phase), SpanKind::phase);
  if (!resolved()) resolve();
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (plan_.steps[s].phase != phase) continue;
    Stream& stream = storage_.device().stream();
    for (Recorder* recorder : recorders) recorder->begin(s, stream);
    launch(s, stream);
    for (Recorder* recorder : recorders) recorder->end(s, stream);
  }
}

void Executor::run_empty() {
  if (!resolved()) resolve();
  std::vector<ValueId> known;  // computed from stored values alone: a penalty, the stop request
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    if (step.phase == Phase::update) continue;
    const bool from_storage =
        std::ranges::all_of(step.inputs, [](const Slot& slot) { return slot.where == Slot::Where::storage; });
    if (from_storage)
      for (const Slot& slot : step.outputs) known.push_back(slot.value);
    else if (!schema_of(step.problem.op).collective)
      continue;
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i].where == Slot::Where::arena &&
          std::ranges::find(known, step.inputs[i].value) == known.end())
        storage_.device().zero(const_cast<void*>(bound_[s].inputs[i]),
                               static_cast<std::size_t>(step.problem.inputs[i].bytes()));
    launch(s, storage_.device().stream());
  }
}

void Executor::run_steps(const std::vector<std::size_t>& steps) {
  if (!resolved()) resolve();
  for (std::size_t s : steps) launch(s, storage_.device().stream());
}

bool Executor::finite(const Step& step, const Bound& bound) const {
  for (std::size_t o = 0; o < bound.outputs.size(); ++o) {
    const TensorType& type = step.problem.outputs[o];
    if (!is_float(type.dtype)) continue;
    std::vector<std::byte> host(static_cast<std::size_t>(type.bytes()));
    storage_.device().download(host.data(), bound.outputs[o], host.size());
    for (double value : widened(type, host.data()))
      if (!std::isfinite(value)) return false;
  }
  return true;
}

// Steps that change stored values in place (running statistics) change them a second time. This batch has
// already spoilt those values, and the caller is about to stop.
std::string Executor::first_nonfinite_layer() {
  if (!resolved()) resolve();
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (plan_.steps[s].phase != Phase::forward) continue;
    if (schema_of(plan_.steps[s].problem.op).collective) break;  // other ranks do not take part again
    launch(s, storage_.device().stream());
    if (!finite(plan_.steps[s], bound_[s])) return plan_.graph.node(plan_.steps[s].node).layer;
  }
  return {};
}

const void* Executor::data(ValueId value) const {
  if (!resolved())
    fail("value '{}' is read before a run, or after another plan moved the arena",
         plan_.graph.value(value).name);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Node& node = plan_.graph.node(plan_.steps[s].node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] == value) return bound_[s].outputs[i];
  }
  const NodeId from = plan_.graph.value(value).producer;
  if (from != kNone && schema_of(plan_.graph.node(from).op).is_view) {
    const OpSchema& schema = schema_of(plan_.graph.node(from).op);
    const auto* whole = static_cast<const std::byte*>(data(plan_.graph.node(from).inputs[0]));
    if (schema.view_offset == nullptr) return whole;
    return whole + static_cast<std::size_t>(schema.view_offset(plan_.graph.problem(from))) *
                       size_of(plan_.graph.value(value).type.dtype);
  }
  // A network from a file may return a constant or an unchanged input.
  const Role role = plan_.graph.value(value).role;
  if (from == kNone && role == Role::input) return inputs_[static_cast<std::size_t>(value)];
  if (from == kNone && storage_.has(plan_.graph.value(value).name))
    return storage_.data(plan_.graph.value(value).name);
  fail("value '{}' is not computed by this plan", plan_.graph.value(value).name);
}

std::vector<double> Executor::read(ValueId value) const {
  const TensorType& type = plan_.graph.value(value).type;
  std::vector<std::byte> host(static_cast<std::size_t>(type.bytes()));
  storage_.device().download(host.data(), data(value), host.size());
  return widened(type, host.data());
}

double Executor::read_scalar(ValueId value) const {  // called at every step: allocates nothing
  return dispatch_float(plan_.graph.value(value).type.dtype, [&]<class T>() -> double {
    T host{};
    storage_.device().download(&host, data(value), sizeof host);
    return static_cast<double>(host);
  });
}

}  // namespace headroom
