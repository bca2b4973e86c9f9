#include "train/engine.h"

#include <cmath>

#include "base/units.h"
#include "plan/memory_need.h"

namespace headroom {
namespace {

// Systems promise more memory than they have and later kill the process, so check before allocating. The
// arena grows with the batch, so the largest batch that fits can be computed.
void require_memory(double there, const Plan& plan, const std::string& model) {
  const MemoryNeed need = memory_need(plan);
  if (there <= 0 || need.total() <= there) return;
  const double share = need.arena > 0 ? (there - need.stored) / need.arena : 0;
  const auto fitting = static_cast<std::int64_t>(0.95 * share * double(plan.binding.batch));
  const std::string hint = fitting >= 1 ? fmt::format("take a smaller `batch`: {} fits", fitting)
                                        : std::string("no batch fits: take a smaller model");
  reject(Hint{hint}, "model '{}' with a batch of {} needs {} of memory, but {} has {}", model,
         plan.binding.batch, human_bytes(need.total()), plan.binding.target.device.name, human_bytes(there));
}

void require_precision(const EngineOptions& options, const Capabilities& device) {
  const std::string_view wanted = options.tf32 ? "tf32" : name_of(options.precision);
  const bool plain = options.precision == DType::f64 || (options.precision == DType::f32 && !options.tf32);
  if (plain) return;
  if (device.kind == DeviceKind::cpu) return require_cpu_precision(device, options.precision, options.tf32);
  constexpr int kAmpere = 80;
  if (device.compute_capability < kAmpere && options.precision != DType::f16)
    reject(Hint{"use `precision` fp32 or fp16"}, "{} has compute capability {}.{} and does not compute in {}",
           device.name, device.compute_capability / 10, device.compute_capability % 10, wanted);
}

// The loss of a step, once it was computed.
double finite_loss(Executor& executor, ValueId value, std::int64_t step) {
  const double loss = executor.read_scalar(value);
  if (std::isfinite(loss)) return loss;
  const std::string layer = executor.first_nonfinite_layer();
  throw LossNotFinite(
      Blame::run,
      fmt::format("the loss became {} at step {}; the first layer with a value that is not finite is '{}'",
                  loss, step, layer.empty() ? "loss" : layer),
      Hint{kCalmer});
}

}  // namespace

void require_cpu_precision(const Capabilities& cpu, DType precision, bool tf32) {
  const bool plain = !is_16bit(precision) && !tf32;
  if (plain || (precision == DType::bf16 && cpu.bf16_products)) return;
  if (precision == DType::bf16)
    reject(Hint{"use `precision` fp32 or fp64"},
           "{} does not compute in bf16: it has none of AMX-BF16, AVX512-BF16 and BF16 of Arm", cpu.name);
  reject(Hint{cpu.bf16_products ? "use `precision` fp32, fp64 or bf16, or a GPU: `device` cuda"
                                : "use `precision` fp32 or fp64, or a GPU: `device` cuda"},
         "the CPU does not compute in {}", tf32 ? "tf32" : name_of(precision));
}

namespace {

// On a CPU, bf16 is what products round their factors to. Everything is stored in fp32.
bool rounds_on_cpu(const Capabilities& device, DType precision) {
  return device.kind == DeviceKind::cpu && precision == DType::bf16;
}

}  // namespace

Target target_of(const Capabilities& device, const EngineOptions& options, const Distribution& ranks) {
  Distribution among = ranks;
  among.shard_optimizer = among.shard_optimizer && keeps_state(options.update);
  // Ranks that hold the same layers must compute the same bits, so nothing is chosen by timing then.
  const bool repeats = options.deterministic || ranks.model_parts > 1;
  return {device,
          {.tf32 = options.tf32, .bf16 = rounds_on_cpu(device, options.precision), .deterministic = repeats},
          among};
}

BuildRequest build_request(const EngineOptions& options, const Target& target, Mode mode, std::int64_t batch,
                           BatchPlace place) {
  if (mode == Mode::train && place.global == 0) place.global = batch;
  return {.mode = mode,
          .batch = batch,
          .precision = rounds_on_cpu(target.device, options.precision) ? DType::f32 : options.precision,
          .target = target,
          .seed = options.seed,
          .update = options.update,
          .label_smoothing = options.label_smoothing,
          .accumulate = place.accumulate,
          .layout = options.layout,
          .streams = options.capture ? options.streams : 1,
          .keep_gradients = options.keep_gradients,
          .global_batch = place.global,
          .first_item = place.first,
          .choose = options.choose};
}

std::string Engine::Ready::explain() const { return Built{program, plan(), passes}.explain(); }

Engine::Engine(Net net, Device& device, EngineOptions options)
    : net_(std::move(net)), device_(device), options_(std::move(options)), storage_(device), arena_(device) {
  require_precision(options_, device.capabilities());
  target_ = target_of(device.capabilities(), options_, ranks());
  if (groups() != nullptr) {
    options_.capture = options_.capture && groups()->captures();
    if (ranks().model_parts > 1 && is_16bit(options_.precision) && !target_.policy.bf16 &&
        groups()->of(kModelGroup).kind() != "nccl")
      reject(Hint{"take `precision` tf32, or `parallel` data"},
             "MPI cannot add {}: ranks that split layers cannot exchange it", name_of(options_.precision));
  }
  // Weights exist from the start, even if the first call is not for a plan: callers count them or load them.
  Plan weights;
  BuildRequest request = build_request(options_, target_, Mode::infer, 1);
  weights.binding = {Mode::infer, 1, request.precision, target_};
  request.fusion = Fusion::portable;
  weights.graph = make_program(net_, request).graph;
  require_memory(memory_bytes(), weights, net_.name);
  storage_.prepare(weights.graph, options_.seed);
  weight_names_ = storage_.names(Role::parameter);
  for (std::string& name : storage_.names(Role::state)) weight_names_.push_back(std::move(name));
}

// On a CPU all of the memory, since it can swap. On a GPU, which cannot, the free memory and what this engine
// already holds.
double Engine::memory_bytes() const {
  if (!queues()) return double(target_.device.memory_bytes);
  return double(device_.free_bytes_now() + storage_.bytes() + arena_.bytes());
}

Engine::Ready Engine::make_ready(const BuildRequest& request, Arena& arena) {
  static TuningTable of_this_process;
  TuningTable& table = options_.tuning ? *options_.tuning : of_this_process;
  Built built = build(net_, request);
  require_memory(memory_bytes(), built.plan, net_.name);
  storage_.prepare(built.program.graph, options_.seed);
  Tuner(device_, table).tune(built.plan, options_.on_tuning);
  Ready r{std::move(built.program), std::move(built.passes),
          std::make_unique<Executor>(built.plan, storage_, arena, groups())};
  r.executor->allow_capture(options_.capture && queues());
  return r;
}

Engine::Ready& Engine::ready(Mode mode, std::int64_t batch, BatchPlace place) {
  if (mode == Mode::train && place.global == 0) place.global = batch;
  const auto key = std::tuple(mode, batch, place);
  if (const auto it = ready_.find(key); it != ready_.end()) return it->second;
  return ready_.emplace(key, make_ready(build_request(options_, target_, mode, batch, place), arena_))
      .first->second;
}

void Engine::bind(Ready& ready, const void* images, const std::int32_t* labels) {
  ready.executor->bind(ready.program.images, images);
  if (ready.program.labels != kNone) ready.executor->bind(ready.program.labels, labels);
}

void Engine::run_batch(Ready& ready, const void* images, const std::int32_t* labels, Recorders recorders) {
  bind(ready, images, labels);
  ready.executor->run(recorders);
}

double Engine::correct(const Ready& ready) const {
  if (ready.program.correct == kNone) return 0;
  return ready.executor->read_scalar(ready.program.correct) / double(ready.program.labels_each);
}

double Engine::train_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                          Recorders recorders) {
  bind(ready, images, labels);
  set_step(static_cast<double>(step));  // dropout reads it too
  const bool alone = ready.program.own_loss == kNone;
  const ValueId made = alone ? ready.program.loss : ready.program.own_loss;
  const Phase made_in = phase_of(ready.plan(), made);
  double loss = 0;
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
    ready.executor->run_phase(phase, recorders);
    if (phase == made_in) loss = finite_loss(*ready.executor, made, step);
  }
  return alone ? loss : ready.executor->read_scalar(ready.program.loss);
}

void Engine::forget_gradients() {
  for (const std::string& name : storage_.names(Role::scalar))
    if (name.ends_with(kAccumulated))
      device_.zero(storage_.data(name), static_cast<std::size_t>(storage_.type(name).bytes()));
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
      const bool same = ranks().sync_norms;  // except on a rank without images; the first always has some
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
                        Recorders recorders) {
  bind(ready, images, labels);
  set_step(static_cast<double>(step));
  ready.executor->run(recorders);
}

bool Engine::joins_steps(const Ready& ready) const {
  constexpr std::size_t kMaxLaunches = 64;
  return queues() && options_.capture && groups() == nullptr && !storage_.has(kStep) &&
         ready.plan().steps.size() <= kMaxLaunches;
}

void Engine::queue_steps(Ready& ready, std::span<const StepInput> steps) {
  runs_.resize(std::max(runs_.size(), steps.size()));  // kept: later steps allocate nothing
  for (std::size_t i = 0; i < steps.size(); ++i) {
    bind(ready, steps[i].images, steps[i].labels);
    runs_[i] = ready.executor->inputs();
  }
  ready.executor->run_together(std::span(runs_).first(steps.size()));
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
