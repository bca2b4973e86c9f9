#include "bench/switches.h"

#include <algorithm>

#include "base/random.h"
#include "models/zoo.h"

namespace headroom {
namespace {

struct Workload {
  std::string model;
  std::int64_t batch, images;
};

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> list = {{"mlp:hidden=512", 3000, 60'000}, {"ece408", 100, 10'000}};
  return list;
}

constexpr const char *kAll = "all on", *kStream = "streamed", *kNoOverlap = "streamed, one after the other";

std::vector<Switches> rows() {
  return {{kAll, {}, true},
          {"without graph", {}, false},
          {kStream, {.resident = false}, true},
          {kNoOverlap, {.resident = false, .overlap = false}, true},
          {"streamed from pageable memory", {.resident = false, .pinned = false}, true},
          {"all off", {.resident = false, .pinned = false, .overlap = false}, false}};
}

Dataset random_images(const Net& net, std::int64_t count, std::int64_t batch) {
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
  fill(data.train, count);
  fill(data.test, batch);
  return data;
}

SwitchTiming time_one(Device& device, EngineOptions options, const Workload& w, const Dataset& data,
                      const Switches& switches, int rounds) {
  options.capture = switches.capture;
  Engine engine(find_net(w.model), device, options);
  TrainOptions train_options;
  train_options.batch = w.batch;
  train_options.epochs = rounds + 1;  // the first one is a warm-up
  train_options.lr = 1e-4;
  train_options.shuffle = false;
  train_options.feed = switches.feed;
  // Enough to keep up with a GPU: this measures copies, not pixels.
  const int cores = cpu_capabilities().threads;
  train_options.loader_threads = std::clamp(cores - 2, 1, 12);
  train_options.timed_steps = 0, train_options.parts_timed = 0;
  TrainObserver silent;
  const TrainResult result = train(engine, data, train_options, silent);
  double best = result.state.epochs.back().seconds;
  for (std::size_t i = 1; i < result.state.epochs.size(); ++i)
    best = std::min(best, result.state.epochs[i].seconds);
  return {w.model, w.batch, w.images, switches, result.feed, best};
}

}  // namespace

std::vector<SwitchTiming> bench_switches(Device& device, const EngineOptions& options, int rounds,
                                         const std::function<void(const std::string&)>& progress) {
  std::vector<SwitchTiming> timings;
  for (const Workload& w : workloads()) {
    const Dataset data = random_images(find_net(w.model), w.images, w.batch);
    for (const Switches& switches : rows()) {
      progress(fmt::format("{}: {}", w.model, switches.name));
      timings.push_back(time_one(device, options, w, data, switches, rounds));
    }
  }
  return timings;
}

double hidden_share(const std::vector<SwitchTiming>& timings, const std::string& model) {
  auto seconds = [&](const char* name) {
    for (const SwitchTiming& t : timings)
      if (t.model == model && t.switches.name == name) return t.epoch_s;
    fail("no timing of {} {}", model, name);
  };
  const double there = seconds(kAll), streamed = seconds(kStream), waited = seconds(kNoOverlap);
  return waited > there ? (waited - streamed) / (waited - there) : 1;
}

}  // namespace headroom
