#include "train/engine.h"

#include <cmath>

#include "base/units.h"

namespace headroom {
namespace {

// Systems promise more memory than they have and kill whoever believes them; so ask before allocating.
void require_memory(const Graph& graph, std::size_t arena_bytes, const Binding& binding,
                    const std::string& model) {
  const double there = double(binding.capabilities.memory_bytes);
  double needed = double(arena_bytes);
  for (Role role : {Role::parameter, Role::state, Role::constant})
    for (ValueId id : graph.with_role(role))
      if (graph.value(id).producer == kNone) needed += double(graph.value(id).type.bytes());
  if (there > 0 && needed > there)
    reject(Hint{"try a smaller --batch or a smaller model"},
           "model '{}' with a batch of {} needs {} of memory, but this machine has {}", model, binding.batch,
           human_bytes(needed), human_bytes(there));
}

}  // namespace

Engine::Engine(Net net, Device& device, EngineOptions options)
    : net_(std::move(net)), device_(device), options_(std::move(options)), storage_(device), arena_(device) {
  if (options_.precision != DType::f32 && options_.precision != DType::f64)
    reject(Hint{"use --precision fp32 or fp64"}, "the CPU does not compute in {}",
           name_of(options_.precision));
  // Weights exist from the start, whatever is asked for first: a plan, their number, or to load them.
  const Graph forward = make_forward(net_, 1, options_.precision).graph;
  require_memory(forward, 0, {Mode::eval, 1, options_.precision, device_.capabilities()}, net_.name);
  storage_.prepare(forward, options_.seed);
  weight_names_ = storage_.names(Role::parameter);
  for (std::string& name : storage_.names(Role::state)) weight_names_.push_back(std::move(name));
}

Engine::Ready& Engine::ready(Mode mode, std::int64_t batch) {
  const auto key = std::pair(mode, batch);
  if (const auto it = ready_.find(key); it != ready_.end()) return it->second;
  Ready r{make_program(net_, mode, batch,
                       {.dtype = options_.precision,
                        .seed = options_.seed,
                        .update = options_.update,
                        .keep_gradients = options_.keep_gradients}),
          nullptr};
  const Binding binding{mode, batch, options_.precision, device_.capabilities()};
  const Plan plan = make_plan(r.program.graph, binding, options_.choose);
  require_memory(plan.graph, plan.arena_bytes, binding, net_.name);
  storage_.prepare(r.program.graph, options_.seed);
  r.executor = std::make_unique<Executor>(plan, storage_, arena_);
  return ready_.emplace(key, std::move(r)).first->second;
}

void Engine::bind(Ready& ready, const void* images, const std::int32_t* labels) {
  ready.executor->bind(ready.program.images, images);
  if (ready.program.labels != kNone) ready.executor->bind(ready.program.labels, labels);
}

void Engine::run_batch(Ready& ready, const void* images, const std::int32_t* labels, Recorder* recorder) {
  bind(ready, images, labels);
  ready.executor->run(recorder);
}

double Engine::correct(const Ready& ready) const {
  return ready.program.correct == kNone ? 0 : ready.executor->read_scalar(ready.program.correct);
}

double Engine::train_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                          Recorder* recorder) {
  bind(ready, images, labels);
  set_step(static_cast<double>(step));  // dropout reads it too
  ready.executor->run_phase(Phase::forward, recorder);
  const double loss = ready.executor->read_scalar(ready.program.loss);
  if (!std::isfinite(loss)) {
    const std::string layer = ready.executor->first_nonfinite_layer();
    throw Error(
        Blame::run,
        fmt::format("the loss became {} at step {}; the first layer with a value that is not finite is '{}'",
                    loss, step, layer.empty() ? "loss" : layer),
        Hint{"try a smaller --lr"});
  }
  ready.executor->run_phase(Phase::backward, recorder);
  ready.executor->run_phase(Phase::update, recorder);
  return loss;
}

void Engine::set_step(double step) {
  if (!storage_.has(kStep)) return;
  if (!(step >= 1)) fail("step {}: steps count from 1", step);
  storage_.set_scalar(kStep, step);
}

std::int64_t Engine::parameter_count() const {
  std::int64_t count = 0;
  for (const std::string& name : storage_.names(Role::parameter)) count += storage_.type(name).shape.numel();
  return count;
}

}  // namespace headroom
