#include "train/engine.h"

#include <cmath>

#include "base/units.h"

namespace headroom {
namespace {

// What a plan takes beside its arena.
double stored_bytes(const Graph& graph) {
  double bytes = 0;
  for (Role role : {Role::parameter, Role::state, Role::constant})
    for (ValueId id : graph.with_role(role))
      if (graph.value(id).producer == kNone) bytes += double(graph.value(id).type.bytes());
  return bytes;
}

// Systems promise more memory than they have and kill whoever believes them; so ask before allocating. The
// arena grows with the batch, so a batch that fits is soon found.
void require_memory(double there, const Plan& plan, const std::string& model) {
  const double stored = stored_bytes(plan.graph), arena = double(plan.arena_bytes);
  if (there <= 0 || stored + arena <= there) return;
  const double share = arena > 0 ? (there - stored) / arena : 0;
  const auto fitting = static_cast<std::int64_t>(0.95 * share * double(plan.binding.batch));
  const std::string hint = fitting >= 1 ? fmt::format("take a smaller `batch`: {} fits", fitting)
                                        : std::string("no batch fits: take a smaller model");
  reject(Hint{hint}, "model '{}' with a batch of {} needs {} of memory, but {} has {}", model,
         plan.binding.batch, human_bytes(stored + arena), plan.binding.capabilities.name, human_bytes(there));
}

void require_precision(const EngineOptions& options, const Capabilities& device) {
  const std::string_view wanted = options.tf32 ? "tf32" : name_of(options.precision);
  const bool plain = options.precision == DType::f64 || (options.precision == DType::f32 && !options.tf32);
  if (plain) return;
  if (device.kind == DeviceKind::cpu)
    reject(Hint{"use `precision` fp32 or fp64, or a GPU: `device` cuda"}, "the CPU does not compute in {}",
           wanted);
  constexpr int kAmpere = 80;
  if (device.compute_capability < kAmpere && options.precision != DType::f16)
    reject(Hint{"use `precision` fp32 or fp16"}, "{} has compute capability {}.{} and does not compute in {}",
           device.name, device.compute_capability / 10, device.compute_capability % 10, wanted);
}

}  // namespace

Engine::Engine(Net net, Device& device, EngineOptions options)
    : net_(std::move(net)),
      device_(device),
      options_(std::move(options)),
      capabilities_(device.capabilities()),
      storage_(device),
      arena_(device) {
  require_precision(options_, capabilities_);
  capabilities_.tf32 = options_.tf32;
  capabilities_.deterministic = options_.deterministic;
  // Weights exist from the start, whatever is asked for first: a plan, their number, or to load them.
  if (groups() != nullptr) {
    options_.capture = options_.capture && groups()->captures();
    capabilities_.groups = groups();
    capabilities_.device = &device_;
    if (ranks().model_parts > 1) {
      // Layers that all ranks hold must come to the same bits on each, and nothing is chosen by timing then.
      capabilities_.deterministic = true;
      if (is_narrow(options_.precision) && groups()->of(kModelGroup).kind() != "nccl")
        reject(Hint{"take `precision` tf32, or `parallel` data"},
               "MPI adds no {}: ranks that share layers cannot exchange it", name_of(options_.precision));
    }
  }
  const Graph forward = make_forward(net_, 1, options_.precision, Fusion::plain, ranks()).graph;
  Plan weights;
  weights.graph = forward;
  weights.binding = {Mode::eval, 1, options_.precision, capabilities_};
  require_memory(memory_bytes(), weights, net_.name);
  storage_.prepare(forward, options_.seed);
  weight_names_ = storage_.names(Role::parameter);
  for (std::string& name : storage_.names(Role::state)) weight_names_.push_back(std::move(name));
}

// All of a computer's, since it can swap; what is free on a GPU, which cannot, and what is ours there
// already.
double Engine::memory_bytes() const {
  if (!queues()) return double(capabilities_.memory_bytes);
  return double(device_.free_bytes_now() + storage_.bytes() + arena_.bytes());
}

Engine::Ready& Engine::ready(Mode mode, std::int64_t batch, BatchPlace place) {
  if (mode == Mode::train && place.global == 0) place.global = batch;
  const auto key = std::tuple(mode, batch, place);
  if (const auto it = ready_.find(key); it != ready_.end()) return it->second;
  Distribution shared = ranks();
  shared.shard_optimizer = shared.shard_optimizer && keeps_state(options_.update);
  Ready r{make_program(net_, mode, batch,
                       {.dtype = options_.precision,
                        .seed = options_.seed,
                        .update = options_.update,
                        .tally = mode == Mode::train && queues(),
                        .fuse_head = queues() && options_.precision == DType::f32,  // what the kernel takes
                        .layout = options_.layout,
                        .capabilities = capabilities_,
                        .fuse_blocks = capabilities_.kind == DeviceKind::cpu,
                        .keep_gradients = options_.keep_gradients,
                        .ranks = shared,
                        .global_batch = place.global,
                        .first_item = place.first}),
          nullptr};
  const bool capture = options_.capture && queues();
  const Binding binding{mode, batch, options_.precision, capabilities_, capture ? options_.streams : 1};
  const Plan plan = make_plan(r.program.graph, binding, options_.choose);
  require_memory(memory_bytes(), plan, net_.name);
  storage_.prepare(r.program.graph, options_.seed);
  r.executor = std::make_unique<Executor>(plan, storage_, arena_);
  r.executor->allow_capture(capture);
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
  if (ready.program.correct == kNone) return 0;
  return ready.executor->read_scalar(ready.program.correct) / double(ready.program.labels_each);
}

double Engine::train_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                          Recorder* recorder) {
  bind(ready, images, labels);
  set_step(static_cast<double>(step));  // dropout reads it too
  ready.executor->run_phase(Phase::forward, recorder);
  const bool alone = ready.program.own_loss == kNone;
  const double loss = ready.executor->read_scalar(alone ? ready.program.loss : ready.program.own_loss);
  if (!std::isfinite(loss)) {
    const std::string layer = ready.executor->first_nonfinite_layer();
    throw Error(
        Blame::run,
        fmt::format("the loss became {} at step {}; the first layer with a value that is not finite is '{}'",
                    loss, step, layer.empty() ? "loss" : layer),
        Hint{"try a smaller `lr`"});
  }
  ready.executor->run_phase(Phase::backward, recorder);
  ready.executor->run_phase(Phase::update, recorder);
  return alone ? loss : ready.executor->read_scalar(ready.program.loss);
}

double Engine::empty_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step) {
  bind(ready, images, labels);
  set_step(static_cast<double>(step));
  ready.executor->run_empty();
  ready.executor->run_phase(Phase::update);
  return ready.executor->read_scalar(ready.program.loss);
}

void Engine::ask_to_stop(bool stop) {
  if (storage_.has(kStop)) storage_.set_scalar(kStop, stop ? 1 : 0);
}

bool Engine::anyone_stops(const Ready& ready) const {
  return ready.program.stop != kNone && ready.executor->read_scalar(ready.program.stop) > 0;
}

void Engine::average_statistics() {
  if (ranks().data_parts == 1) return;
  for (const std::string& name : weight_names_) {
    const TensorType& type = storage_.type(name);
    if (storage_.role(name) != Role::state) continue;
    dispatch_float(type.dtype, [&]<class T>() {
      std::vector<T> values(static_cast<std::size_t>(type.shape.numel()));
      storage_.read(name, values.data(), values.size() * sizeof(T));
      std::vector<double> sums(values.begin(), values.end());
      const bool same = ranks().sync_norms;  // but on a rank that got no images: the first always has some
      if (same)
        groups()->world().broadcast(sums.data(), sums.size() * sizeof(double));
      else
        groups()->world().all_reduce(sums.data(), std::ssize(sums));
      for (std::size_t i = 0; i < sums.size(); ++i)
        values[i] = static_cast<T>(sums[i] / (same ? 1 : ranks().ranks()));
      storage_.write(name, values.data(), values.size() * sizeof(T));
    });
  }
}

void Engine::queue_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                        Recorder* recorder) {
  bind(ready, images, labels);
  set_step(static_cast<double>(step));
  ready.executor->run(recorder);
}

std::array<double, kTallyFields> Engine::take_tally() {
  std::array<double, kTallyFields> sums{};
  if (!storage_.has(kTally)) return sums;
  storage_.read(kTally, sums.data(), sizeof sums);
  device_.zero(storage_.data(kTally), sizeof sums);
  if (!ready_.empty()) sums[kTallyCorrect] /= double(ready_.begin()->second.program.labels_each);
  return sums;
}

void Engine::set_learning_rate(double rate) {
  if (rate_ == rate) return;
  storage_.set_scalar(kLearningRate, rate);
  rate_ = rate;
}

void Engine::set_step(double step) {
  if (!storage_.has(kStep)) return;
  if (!(step >= 1)) fail("step {}: steps count from 1", step);
  storage_.set_scalar(kStep, step);
}

std::int64_t Engine::parameter_count() const {
  std::int64_t count = 0;
  for (const std::string& name : storage_.names(Role::parameter)) {
    const auto& part = storage_.part(name);
    count += (part ? part->whole : storage_.type(name).shape).numel();
  }
  return count;
}

}  // namespace headroom
