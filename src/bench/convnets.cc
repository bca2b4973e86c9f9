#include "bench/convnets.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/random_batch.h"
#include "ops/operator.h"
#include "predict/predict.h"
#include "profile/step_timer.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

using Steps = std::vector<std::size_t>;

// Some steps of a plan, as one launch if the device can.
class Piece {
 public:
  Piece(Device& device, Executor& executor, Steps steps) : executor_(executor), steps_(std::move(steps)) {
    executor_.run_steps(steps_);  // the first run loads code
    if (device.kind() != DeviceKind::cpu && !steps_.empty())
      captured_ = device.capture([this] { executor_.run_steps(steps_); });
  }
  void run() {
    if (captured_ != nullptr)
      captured_->launch();
    else
      executor_.run_steps(steps_);
  }

 private:
  Executor& executor_;
  Steps steps_;
  std::unique_ptr<Captured> captured_;
};

Steps steps_where(const Plan& plan, const std::function<bool(std::size_t)>& wanted) {
  Steps steps;
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (wanted(s)) steps.push_back(s);
  return steps;
}

// By step: true if it is part of a gradient of parameters. Gradients that another layer takes up are those of
// inputs; what stays within its layer and ends in an output belongs to the parameters.
std::vector<bool> weight_gradients(const Plan& plan) {
  const Graph& graph = plan.graph;
  std::vector<bool> of_inputs(graph.values().size(), false);  // by value
  for (ValueId id : graph.outputs) {
    const std::string& name = graph.value(id).name;
    of_inputs[static_cast<std::size_t>(id)] = !name.ends_with(".gradient") || name == "images.gradient";
  }
  std::vector<bool> nodes(graph.nodes().size(),
                          false);  // also those that only rename a value and have no step
  for (std::size_t n = nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    nodes[n] = node.phase == Phase::backward &&
               std::none_of(node.outputs.begin(), node.outputs.end(),
                            [&](ValueId id) { return of_inputs[static_cast<std::size_t>(id)]; });
    for (ValueId id : node.inputs) {
      const NodeId producer = graph.value(id).producer;
      const bool same_layer = producer != kNone && graph.node(producer).layer == node.layer;
      if (!nodes[n] || !same_layer) of_inputs[static_cast<std::size_t>(id)] = true;
    }
  }
  std::vector<bool> weights;
  for (const Step& step : plan.steps) weights.push_back(nodes[static_cast<std::size_t>(step.node)]);
  return weights;
}

// Everything timed here has run before.
SamplerOptions sampling(const ConvnetBenchOptions& options) {
  return {.warm_ups = 0,
          .min_samples = options.rounds,
          .max_samples = options.rounds,
          .repeats = options.repeats};
}

Sampled sampled(Device& device, Piece& piece, const ConvnetBenchOptions& options) {
  return sample(device, sampling(options), [&] { piece.run(); });
}

double products_of(const Step& step) {
  return schema_of(step.problem.op).has_products ? step.cost.multiply_add : 0;
}

double multiply_adds(const Plan& plan) {
  double sum = 0;
  for (const Step& step : plan.steps) sum += products_of(step);
  return sum;
}

// Protocol one: loops over the forward pass, the input gradients and the weight gradients. In the last two, a
// buffer that the planner gave to two values holds the later one: times are right, numbers are not.
void time_separate_loops(ConvnetTiming& t, const ConvnetWorkload& w, Device& device, const Machine& machine,
                         const ConvnetBenchOptions& options) {
  Engine engine(w.net, device, options.engine);
  BuildRequest request = build_request(options.engine, engine.target(), Mode::gradients, w.batch);
  request.image_gradients = w.layer;
  request.streams = 1;
  Arena arena(device);
  Engine::Ready ready = engine.make_ready(request, arena);
  const Program& program = ready.program;
  const Plan& plan = ready.plan();
  Executor& executor = *ready.executor;
  t.flop = multiply_adds(plan);
  t.floor_s = predict(plan, machine).floor_s;
  const RandomBatch data(device, program, w.batch);
  executor.bind(program.images, data.image(0));

  const std::vector<bool> of_weights = weight_gradients(plan);
  auto is_forward = [&](std::size_t s) { return plan.steps[s].phase == Phase::forward; };
  Piece forward(device, executor, steps_where(plan, is_forward));
  Piece inputs(device, executor,
               steps_where(plan, [&](std::size_t s) { return !is_forward(s) && !of_weights[s]; }));
  Piece weights(device, executor, steps_where(plan, [&](std::size_t s) { return of_weights[s]; }));
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (!is_forward(s))
      (of_weights[s] ? t.weight_gradient_flop : t.input_gradient_flop) += products_of(plan.steps[s]);
  t.forward_s = sampled(device, forward, options);
  t.input_gradient_s = sampled(device, inputs, options);
  t.weight_gradient_s = sampled(device, weights, options);
}

CodeFeatures features_of(const Net& net, const Plan& plan) {
  const std::string text = to_json_text(net);
  CodeFeatures f{.layers = net.layers.size(),
                 .lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
                 .steps = plan.steps.size()};
  std::set<std::pair<std::string, std::string_view>> kernels;
  for (const Step& step : plan.steps) {
    f.launches += static_cast<std::size_t>(step.work.launch_count());
    kernels.emplace(step.problem.op, step.kernel_name());
  }
  f.kernels = kernels.size();
  return f;
}

// Each step of the plan between two marks; these take some microseconds themselves.
Measurement time_steps(Device& device, const Plan& plan, const std::function<void(Recorders)>& step) {
  constexpr std::size_t kRuns = 5;
  StepTimer timer(device, plan.steps.size(), kRuns);
  Recorder* const recorders[] = {&timer};
  for (std::size_t run = 0; run < kRuns; ++run) step(recorders);
  return timer.measurement();
}

// Protocol two: whole training steps, split in two by the device's clock, and as one launch.
void time_whole_steps(ConvnetTiming& t, const ConvnetWorkload& w, Device& device, const Machine& machine,
                      const ConvnetBenchOptions& options) {
  const std::size_t free_before = device.free_bytes_now();
  Engine engine(w.net, device, options.engine);
  Engine::Ready& ready = engine.ready(Mode::train, w.batch);
  engine.set_learning_rate(1e-6);  // the weights hardly change
  const RandomBatch data(device, ready.program, w.batch);
  auto recorded = [&](Recorders recorders) {
    if (engine.queues())
      engine.queue_step(ready, data.image(0), data.label(0), 1, recorders);
    else
      engine.train_step(ready, data.image(0), data.label(0), 1, recorders);
  };
  auto step = [&] { recorded({}); };
  for (int warm = 0; warm < 2; ++warm) step();
  device.stream().synchronize();
  t.peak_bytes = device.kind() == DeviceKind::cpu ? double(engine.arena_bytes() + engine.storage().bytes())
                                                  : double(free_before) - double(device.free_bytes_now());
  t.parameters = engine.parameter_count();
  t.step_flop = multiply_adds(ready.plan());
  const Prediction prediction = predict(ready.plan(), machine, time_model_for(machine));
  t.step_floor_s = prediction.floor_s;
  t.features = features_of(w.net, ready.plan());

  const Plan& plan = ready.plan();
  auto is_forward = [&](std::size_t s) { return plan.steps[s].phase == Phase::forward; };
  Piece forward(device, *ready.executor, steps_where(plan, is_forward));
  Piece backward(device, *ready.executor, steps_where(plan, [&](std::size_t s) { return !is_forward(s); }));
  const auto begin = device.make_event(), between = device.make_event(), end = device.make_event();
  const TimedBody halves = [&](int repeats) -> std::vector<double> {
    double first = 0, second = 0;
    for (int i = 0; i < repeats; ++i) {
      begin->record(device.stream());
      forward.run();
      between->record(device.stream());
      backward.run();
      end->record(device.stream());
      end->synchronize();
      first += between->seconds_since(*begin);
      second += end->seconds_since(*between);
    }
    return {first + second, first, second};
  };
  const auto timed = sample_in_turn(sampling(options), {halves, timed_on(device, step)});
  t.step_forward_s = timed[0].parts[0], t.step_backward_s = timed[0].parts[1], t.step_s = timed[1];
  t.plan = plan, t.prediction = prediction;
  t.measurement = time_steps(device, plan, recorded);
}

std::vector<double> scores(const Net& net, Device& device, const EngineOptions& options) {
  constexpr std::int64_t kFew = 2;
  Engine engine(net, device, options);
  Engine::Ready& ready = engine.ready(Mode::eval, kFew);
  const RandomBatch data(device, ready.program, kFew);
  engine.run_batch(ready, data.image(0), data.label(0));
  return ready.executor->read(ready.program.logits);
}

// The timed kernels must also be right: compares scores of a few images with the CPU's. Rounding adds up
// through a deep network, but a wrong kernel is off by much more than a tenth.
void require_right(const ConvnetWorkload& w, Device& device, const EngineOptions& options) {
  if (device.kind() == DeviceKind::cpu || w.layer) return;
  EngineOptions plain;
  plain.precision = master_of(options.precision);
  plain.seed = options.seed;
  const auto cpu = open_device("cpu");
  const std::vector<double> got = scores(w.net, device, options), want = scores(w.net, *cpu, plain);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  const bool rounded = options.tf32 || is_16bit(options.precision);
  const double allowed = rounded ? 0.1 : 1e4 * unit_roundoff(options.precision);
  if (!(std::sqrt(error / size) < allowed))
    fail("{}: the chosen kernels are off those of the CPU by {:.2g}; not timed", w.name,
         std::sqrt(error / size));
}

}  // namespace

std::vector<ConvnetWorkload> convnet_workloads(std::int64_t batch) {
  std::vector<ConvnetWorkload> all;
  auto add = [&](const std::string& model, std::int64_t published) {
    all.push_back({model, find_net(model), batch > 0 ? batch : published});
  };
  add("alexnet", 128), add("overfeat", 128), add("vgg:depth=11", 64), add("googlenet", 128);
  add("resnet:depth=50", 128);
  return all;
}

std::vector<ConvnetWorkload> layer_workloads(std::int64_t batch) {
  struct Published {
    const char* name;
    std::int64_t side, channels, maps, kernel;
  };
  constexpr Published kLayers[] = {{"L1", 128, 3, 96, 11},
                                   {"L2", 64, 64, 128, 9},
                                   {"L3", 32, 128, 128, 9},
                                   {"L4", 16, 128, 128, 7},
                                   {"L5", 13, 384, 384, 3}};
  std::vector<ConvnetWorkload> all;
  for (const Published& p : kLayers) {
    Net net(p.name, {p.channels, p.side, p.side});
    net.conv2d("conv", {.maps = p.maps, .kernel = p.kernel, .bias = false});
    all.push_back({p.name, std::move(net), batch > 0 ? batch : 128, true});
  }
  return all;
}

std::vector<ConvnetTiming> bench_convnets(Device& device, const Machine& machine,
                                          const std::vector<ConvnetWorkload>& workloads,
                                          const ConvnetBenchOptions& options,
                                          const std::function<void(const std::string&)>& progress) {
  std::vector<ConvnetTiming> timings;
  for (const ConvnetWorkload& w : workloads) {
    progress(fmt::format("{}, batch {}", w.name, w.batch));
    if (options.check) require_right(w, device, options.engine);
    ConvnetTiming t{.name = w.name, .batch = w.batch};
    time_separate_loops(t, w, device, machine, options);
    if (!w.layer) time_whole_steps(t, w, device, machine, options);
    progress(fmt::format("{}: {:.3f} ms forward and backward, {:.3f} ms a step", w.name, t.total_s() * 1e3,
                         t.step_s.median * 1e3));
    timings.push_back(std::move(t));
  }
  return timings;
}

}  // namespace headroom
