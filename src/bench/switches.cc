#include "bench/switches.h"

#include <algorithm>

#include "base/random.h"
#include "bench/blocking_exchange.h"
#include "models/zoo.h"
#include "ops/operator.h"
#include "plan/streams.h"

namespace headroom {
namespace {

Dataset random_images(const Net& net, const SwitchWorkload& w) {
  Dataset data{.name = "random"};
  data.classes = 10;
  const Shape input(net.input);
  auto fill = [&](Split& split, std::int64_t images) {
    split.image = input;
    split.pixels.resize(static_cast<std::size_t>(images * input.numel()));
    const Philox random(9);
    for (std::size_t i = 0; i + 4 <= split.pixels.size(); i += 4) {
      const std::uint32_t bits = random.bits(i / 4);
      for (std::size_t k = 0; k < 4; ++k) split.pixels[i + k] = static_cast<std::uint8_t>(bits >> (8 * k));
    }
    for (std::int64_t i = 0; i < images; ++i) split.labels.push_back(static_cast<std::uint8_t>(i % 10));
  };
  fill(data.train, w.images);
  fill(data.test, w.batch);
  return data;
}

// Enough to keep up with a GPU.
int many_loader_threads() { return std::clamp(cpu_capabilities().threads - 2, 2, 12); }

TrainOptions train_options(const SwitchWorkload& w, const SwitchSet& on, int rounds) {
  TrainOptions o;
  o.batch = w.batch;
  o.epochs = rounds + 1;  // the first one is a warm-up
  o.lr = 1e-4;
  o.shuffle = false;
  o.feed = {.resident = on.contains(Switch::resident),
            .pinned = on.contains(Switch::pinned),
            .overlap = on.contains(Switch::overlap),
            .reuse = on.contains(Switch::reuse)};
  o.loader_threads = on.contains(Switch::loader) ? many_loader_threads() : 1;
  o.timed_steps = 0, o.parts_timed = 0;
  return o;
}

struct TimedEpochs {
  double best_s = 0;
  std::string feed;
};

// Of the slowest rank, epoch by epoch.
TimedEpochs time_epochs(Device& device, EngineOptions options, const SwitchWorkload& w, const Dataset& data,
                        const SwitchSet& on, int rounds) {
  options.capture = on.contains(Switch::graph);
  options.streams = on.contains(Switch::streams) ? kMaxStreams : 1;
  if (!on.contains(Switch::kernels)) options.choose = last_that_accepts;
  std::unique_ptr<BlockingExchange> blocking;
  if (options.groups != nullptr && !on.contains(Switch::exchange)) {
    blocking = std::make_unique<BlockingExchange>(*options.groups);
    options.groups = &blocking->groups();
  }
  Engine engine(find_net(w.model), device, options);
  TrainObserver silent;
  const TrainResult result = train(engine, data, train_options(w, on, rounds), silent);
  std::vector<double> seconds;
  for (const EpochResult& epoch : result.state.epochs) seconds.push_back(epoch.seconds);
  if (options.groups != nullptr)
    options.groups->world().all_reduce(seconds.data(), std::ssize(seconds), Reduction::max);
  return {*std::min_element(seconds.begin() + 1, seconds.end()), result.feed};
}

}  // namespace

Choice last_that_accepts(const Problem& problem, const Target& target) {
  const std::vector<Kernel>& kernels = operator_of(problem.op).kernels;
  for (auto kernel = kernels.rbegin(); kernel != kernels.rend(); ++kernel)
    if (kernel->device == target.device.kind && accepts(*kernel, problem, target).ok)
      return {&*kernel, "the last in the list", {}};
  return first_that_accepts(problem, target);  // says why none does
}

std::vector<SwitchWorkload> usual_switch_workloads(DeviceKind device) {
  if (device == DeviceKind::cpu) return {{"mlp:hidden=512", 200, 1'000}, {"lenet5", 50, 200}};
  return {{"mlp:hidden=512", 3'000, 60'000}, {"ece408", 100, 10'000}};
}

std::vector<SwitchTiming> bench_switches(Device& device, const SwitchWorkload& workload,
                                         const SwitchBench& bench) {
  const Groups* const groups = bench.options.groups;
  const int ranks = groups == nullptr ? 1 : groups->world().size();
  const Dataset data = random_images(find_net(workload.model), workload);
  const Capabilities here = device.capabilities();
  std::map<SwitchSet, TimedEpochs> timed;
  std::vector<SwitchTiming> timings;
  for (const SwitchSetting& setting : settings_of(switches_here(here, ranks).runnable)) {
    bench.progress(fmt::format("{}, {}: {}", workload.model,
                               ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks), setting.name()));
    for (const SwitchSet* on : {&setting.on, &setting.base}) {
      if (timed.contains(*on)) continue;
      if (here.kind != DeviceKind::cpu) {
        timed[*on] = time_epochs(device, bench.options, workload, data, *on, bench.rounds);
        continue;
      }
      // The number of threads is set when a CPU is opened.
      const auto cpu = open_device("cpu", on->contains(Switch::threads) ? here.threads : 1);
      timed[*on] = time_epochs(*cpu, bench.options, workload, data, *on, bench.rounds);
    }
    timings.push_back({workload, ranks, setting, timed[setting.on].feed, timed[setting.on].best_s,
                       timed[SwitchSet{}].best_s, timed[setting.base].best_s});
  }
  return timings;
}

double hidden_share(const std::vector<SwitchTiming>& timings) {
  double resident = 0, streamed = 0, waited = 0;
  for (const SwitchTiming& t : timings) {
    if (t.setting.kind == SwitchSetting::Kind::all) resident = t.epoch_s;
    if (t.setting.kind != SwitchSetting::Kind::all_but || t.setting.which != Switch::overlap) continue;
    streamed = t.base_s, waited = t.epoch_s;
  }
  if (resident == 0 || waited == 0) return -1;
  return waited > resident ? std::clamp((waited - streamed) / (waited - resident), 0.0, 1.0) : 1;
}

}  // namespace headroom
