// Captures with several streams, on a device that only records the calls. Kernels run on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/executor.h"
#include "plan/streams.h"
#include "plan/testing/small_net.h"

namespace headroom {
namespace {

using testing::small_net;
using testing::SmallNet;

struct Noted {
  struct Queue final : Stream {
    std::set<std::size_t> over;  // launches that finish before the next one of this stream
    void synchronize() override {}
  };
  Queue first, second, third;
  std::vector<const Queue*> launches;
  std::vector<std::set<std::size_t>> before;  // each launch
  bool capturing = false, second_captured = false;
};
Noted* noted = nullptr;

// Marks are events of captured work: they hold the state of the stream at that point.
struct Mark final : Event {
  std::set<std::size_t> over;
  bool recorded = false;
  void record(Stream& stream) override {
    over = static_cast<Noted::Queue&>(stream).over;
    recorded = true;
  }
  void hold(Stream& stream) override {
    EXPECT_TRUE(recorded);
    static_cast<Noted::Queue&>(stream).over.insert(over.begin(), over.end());
    noted->second_captured |= &stream == &noted->second;
  }
  void synchronize() override {}
  double seconds_since(const Event&) const override { return 0; }
};

class BranchingDevice final : public Device {
 public:
  BranchingDevice() : cpu_(open_device("cpu", 2)) { noted = &noted_; }
  const Capabilities& capabilities() const override { return cpu_->capabilities(); }
  Stream& stream() override { return noted_.first; }
  Stream& copy_stream() override { return noted_.first; }
  Stream& side_stream() override { return noted_.second; }
  Stream& third_stream() override { return noted_.third; }
  void upload(void* dst, const void* src, std::size_t bytes) override { cpu_->upload(dst, src, bytes); }
  void download(void* dst, const void* src, std::size_t bytes) override { cpu_->download(dst, src, bytes); }
  void copy(void* dst, const void* src, std::size_t bytes) override { cpu_->copy(dst, src, bytes); }
  void zero(void* dst, std::size_t bytes) override { cpu_->zero(dst, bytes); }
  void upload_async(void* dst, const void* src, std::size_t bytes, Stream&) override {
    upload(dst, src, bytes);
  }
  void download_async(void* dst, const void* src, std::size_t bytes, Stream&) override {
    download(dst, src, bytes);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<Mark>(); }
  std::unique_ptr<Captured> capture(const std::function<void()>& work) override {
    struct Done final : Captured {
      void launch() override {}
    };
    noted_.capturing = true;
    work();  // runs at once, in queue order
    noted_.capturing = false;
    return std::make_unique<Done>();
  }
  std::size_t free_bytes_now() const override { return cpu_->free_bytes_now(); }
  const Noted& seen() const { return noted_; }

 private:
  void* allocate_bytes(std::size_t bytes, bool) override {
    return ::operator new (bytes, std::align_val_t{256});
  }
  void free_bytes(void* data, bool) noexcept override { ::operator delete (data, std::align_val_t{256}); }

  std::unique_ptr<Device> cpu_;
  Noted noted_;
};

// Takes the CPU's kernel and records the stream it got.
Launcher prepare_noting(const Problem& problem, const LaunchContext& context) {
  return [run = first_that_accepts(problem, context.target).kernel->prepare(problem, context)](
             const LaunchArgs& args) {
    run(args);
    if (!noted->capturing) return;
    auto& queue = static_cast<Noted::Queue&>(*args.stream);
    noted->before.push_back(queue.over);
    queue.over.insert(noted->launches.size());
    noted->launches.push_back(&queue);
  };
}

Plan noting_plan(const SmallNet& net, const Target& target, int streams) {
  const auto choose = [](const Problem& problem, const Target& on) {
    static std::map<const Kernel*, Kernel> noting;
    Choice choice = first_that_accepts(problem, on);
    Kernel& kernel = noting.try_emplace(choice.kernel, *choice.kernel).first->second;
    kernel.prepare = prepare_noting;
    choice.kernel = &kernel;
    return choice;
  };
  return make_plan(net.graph, {Mode::train, 8, DType::f32, target, streams}, choose);
}

// Has no update: the caller reads the gradients.
SmallNet without_update() {
  SmallNet net = small_net(8);
  std::vector<Node> nodes = net.graph.nodes();
  while (nodes.back().op == "sgd") {
    for (std::size_t i = 2; i < nodes.back().inputs.size(); i += 2)
      net.graph.outputs.push_back(nodes.back().inputs[i]);
    nodes.pop_back();
  }
  net.graph.replace_nodes(nodes);
  return net;
}

// Weights after one uncaptured run and one captured run.
std::vector<float> trained(BranchingDevice& device, int streams, const SmallNet& net = small_net(8)) {
  Storage storage(device);
  Arena arena(device);
  storage.prepare(net.graph, 3);
  storage.set_scalar("rate", 0.1);
  Executor executor(noting_plan(net, device.capabilities(), streams), storage, arena);
  std::vector<float> images(48);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = 0.1F * static_cast<float>(i % 17) - 0.5F;
  const std::vector<std::int32_t> labels = {0, 1, 2, 0, 1, 2, 0, 1};
  executor.bind(net.images, images.data());
  executor.bind(net.labels, labels.data());
  executor.allow_capture(true);
  executor.run();
  executor.run();
  EXPECT_EQ(executor.captures(), 1u);
  std::vector<float> weights(30);
  storage.read("fc1.weight", weights.data(), weights.size() * sizeof(float));
  return weights;
}

// Runs on other data each, together in one launch and by themselves.
TEST(Branches, SeveralRunsCanBeOneLaunch) {
  std::vector<float> weights[2];
  for (const bool together : {false, true}) {
    BranchingDevice device;
    const SmallNet net = small_net(8);
    Storage storage(device);
    Arena arena(device);
    storage.prepare(net.graph, 3);
    storage.set_scalar("rate", 0.1);
    Executor executor(noting_plan(net, device.capabilities(), 2), storage, arena);
    std::vector<float> images(4 * 48);
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = 0.1F * static_cast<float>(i % 19) - 0.7F;
    const std::vector<std::int32_t> labels = {0, 1, 2, 0, 1, 2, 0, 1};
    executor.bind(net.labels, labels.data());
    executor.allow_capture(true);
    std::vector<Executor::Inputs> runs;
    for (std::size_t batch = 0; batch < 4; ++batch) {
      executor.bind(net.images, images.data() + 48 * batch);
      runs.push_back(executor.inputs());
      if (batch == 0 || !together) executor.run();  // the first loads code
    }
    if (together) executor.run_together(std::span(runs).subspan(1));
    EXPECT_EQ(executor.captures(), together ? 1u : 3u);
    EXPECT_EQ(device.seen().launches.size(), 3 * executor.plan().steps.size());
    EXPECT_EQ(executor.inputs(), runs.back());
    weights[together].resize(30);
    storage.read("fc1.weight", weights[together].data(), 30 * sizeof(float));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST(Branches, EveryStepComesAfterWhatItReads) {
  for (const int streams : {2, 3}) {
    BranchingDevice device;
    trained(device, streams);
    const Plan plan = noting_plan(small_net(8), device.capabilities(), streams);
    const std::vector<std::size_t> order = queue_order(plan);
    const Noted& seen = device.seen();
    ASSERT_EQ(seen.launches.size(), plan.steps.size());
    EXPECT_TRUE(seen.second_captured);
    const Noted::Queue* const queues[] = {&seen.first, &seen.second, &seen.third};
    std::set<int> used;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Step& step = plan.steps[order[at]];
      EXPECT_EQ(seen.launches[at], queues[step.stream]) << at;
      used.insert(step.stream);
      for (ValueId in : plan.graph.node(step.node).inputs)
        for (std::size_t p = 0; p < at; ++p)
          for (ValueId out : plan.graph.node(plan.steps[order[p]].node).outputs)
            EXPECT_TRUE(in != out || seen.before[at].count(p)) << at << " reads what " << p << " makes";
    }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(streams));
    for (std::size_t at = 0; at < order.size(); ++at)
      EXPECT_TRUE(seen.first.over.count(at)) << "launch " << at << " is part of the work";
  }
}

// In a captured run a recorder hears every step once, on the stream the step is queued on. Another list of
// recorders, or dropped captures, lead to a new capture.
TEST(Branches, ARecorderHearsACapturedRun) {
  struct Heard final : Recorder {
    void begin(std::size_t step, Stream& stream) override { begun.emplace_back(step, &stream); }
    void end(std::size_t step, Stream& stream) override { ended.emplace_back(step, &stream); }
    bool hears_captures() const override { return true; }
    std::vector<std::pair<std::size_t, Stream*>> begun, ended;
  };
  BranchingDevice device;
  const SmallNet net = small_net(8);
  Storage storage(device);
  Arena arena(device);
  storage.prepare(net.graph, 3);
  storage.set_scalar("rate", 0.1);
  const Plan plan = noting_plan(net, device.capabilities(), 2);
  Executor executor(plan, storage, arena);
  const std::vector<float> images(48, 0.25F);
  const std::vector<std::int32_t> labels(8, 1);
  executor.bind(net.images, images.data());
  executor.bind(net.labels, labels.data());
  executor.allow_capture(true);
  executor.run();  // the first run is never captured
  Heard one, two;
  Recorder* const both[] = {&one, &two};
  executor.run(both);
  EXPECT_EQ(executor.captures(), 1u);
  ASSERT_EQ(one.begun.size(), plan.steps.size());
  EXPECT_EQ(one.begun, one.ended);
  EXPECT_EQ(one.begun, two.begun) << "more than one may listen";
  const std::vector<std::size_t> order = queue_order(plan);
  for (std::size_t at = 0; at < order.size(); ++at) {
    EXPECT_EQ(one.begun[at].first, order[at]);
    EXPECT_EQ(one.begun[at].second == &device.seen().second, plan.steps[order[at]].stream == 1) << at;
  }
  executor.run(both);
  EXPECT_EQ(executor.captures(), 1u) << "a replay is no new capture";
  EXPECT_EQ(one.begun.size(), plan.steps.size());
  executor.drop_captures();
  executor.run(both);
  EXPECT_EQ(executor.captures(), 2u);
  EXPECT_EQ(one.begun.size(), 2 * plan.steps.size());
  executor.run();
  EXPECT_EQ(executor.captures(), 3u) << "what they put into it must not stay";
  EXPECT_EQ(one.begun.size(), 2 * plan.steps.size());
}

TEST(Branches, TheWorkEndsWithAll) {
  for (const int streams : {2, 3}) {
    BranchingDevice device;
    trained(device, streams, without_update());
    const Noted& seen = device.seen();
    ASSERT_TRUE(seen.second_captured);
    for (std::size_t s = 0; s < seen.launches.size(); ++s) EXPECT_TRUE(seen.first.over.count(s)) << s;
  }
}

TEST(Branches, OneStreamKeepsToItself) {
  BranchingDevice device;
  trained(device, 1);
  for (const Noted::Queue* queue : device.seen().launches) EXPECT_EQ(queue, &device.seen().first);
  EXPECT_FALSE(device.seen().second_captured);
}

TEST(Branches, OneStreamKnowsWhatASecondWouldTake) {
  const BranchingDevice device;
  const SmallNet net = small_net(8);
  const Plan one = noting_plan(net, device.capabilities(), 1),
             two = noting_plan(net, device.capabilities(), 2);
  const std::vector<bool> fits = fits_other_streams(one);
  ASSERT_EQ(fits.size(), one.steps.size());
  std::set<NodeId> would, does;
  for (std::size_t s = 0; s < fits.size(); ++s)
    if (fits[s]) would.insert(one.steps[s].node);
  for (const Step& step : two.steps)
    if (step.stream == 1 && step.phase == Phase::backward) does.insert(step.node);
  EXPECT_FALSE(does.empty());
  EXPECT_TRUE(std::ranges::includes(would, does));
  EXPECT_LE(would.size(), does.size() + 1) << "the last one stays on the first stream, which is idle by then";
}

TEST(Branches, TheResultIsTheSame) {
  BranchingDevice one;
  const std::vector<float> wanted = trained(one, 1);
  for (const int streams : {2, 3}) {
    BranchingDevice several;  // from now on the one that is noted
    EXPECT_EQ(trained(several, streams), wanted) << streams;
  }
}

}  // namespace
}  // namespace headroom
