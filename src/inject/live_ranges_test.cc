#include "inject/live_ranges.h"

#include <gtest/gtest.h>

#include <vector>

#include "inject/aggregator.h"
#include "inject/range_paths.h"

namespace headroom::inject {
namespace {

// Opens and closes ranges on two threads, live and in a record.
class BothPaths {
 public:
  void open(int thread, std::string name) {
    const std::int64_t mark = operator_mark(name);
    std::vector<Open>& stack = stacks_[thread];
    stack.push_back({name, mark, ++now_,
                     opened_range(stack.empty() ? nullptr : &stack.back().live, name, mark,
                                  std::uint64_t(thread) + 1, operators_)});
  }
  void close(int thread) {
    const Open range = stacks_[thread].back();
    stacks_[thread].pop_back();
    aggregator_.range(range.name, std::uint64_t(thread) + 1, {range.begin_ns, ++now_}, range.mark);
  }
  void launch(int thread) {
    live_.push_back(stacks_[thread].empty() ? "" : stacks_[thread].back().live.path);
    aggregator_.call("cudaLaunchKernel", false, std::uint64_t(thread) + 1, std::uint32_t(live_.size()),
                     {++now_, now_});
  }
  const std::vector<std::string>& live() const { return live_; }
  std::vector<std::string> recorded() const {
    const ProcessRecord record = aggregator_.record();
    const RangePaths paths(record);
    std::vector<std::string> found;
    for (std::size_t i = 1; i <= live_.size(); ++i) {
      const std::string* const path = paths.of_call(std::uint32_t(i));
      found.push_back(path == nullptr ? "" : *path);
    }
    return found;
  }

 private:
  struct Open {
    std::string name;
    std::int64_t mark, begin_ns;
    LivePath live;
  };
  Aggregator aggregator_;
  ForwardOperators operators_;
  std::vector<Open> stacks_[2];
  std::vector<std::string> live_;
  std::int64_t now_ = 0;
};

TEST(LiveRanges, NameLaunchesAsARecordDoes) {
  BothPaths both;
  constexpr int kMain = 0, kBackward = 1;
  for (int step = 0; step < 2; ++step) {
    const std::string seq = std::to_string(10 * step + 7), next = std::to_string(10 * step + 8);
    both.launch(kMain);
    both.open(kMain, "Net");
    both.open(kMain, "conv1");
    both.open(kMain, "aten::conv2d, seq = " + seq + ", op_id = 1");
    both.open(kMain, "aten::convolution, seq = " + seq + ", op_id = 2");
    both.launch(kMain);
    both.close(kMain), both.close(kMain), both.close(kMain), both.close(kMain);
    both.open(kMain, "aten::log_softmax, seq = " + next);  // of no module
    both.launch(kMain);
    both.close(kMain);
    both.open(kBackward, "LogSoftmaxBackward0, seq = " + next);
    both.launch(kBackward);
    both.close(kBackward);
    both.open(kBackward, "ConvolutionBackward0, seq = " + seq + ", op_id = 6");
    both.open(kBackward, "aten::convolution_backward, op_id = 7");
    both.launch(kBackward);
    both.close(kBackward), both.close(kBackward);
    both.open(kMain, "Optimizer.step#SGD.step, op_id = 8");
    both.open(kMain, "aten::add_, op_id = 9");
    both.launch(kMain);
    both.close(kMain), both.close(kMain);
  }
  EXPECT_EQ(both.live(), both.recorded());
  const std::vector<std::string> step = {"",
                                         "Net > conv1",
                                         "aten::log_softmax",
                                         "LogSoftmaxBackward0",
                                         "Net > conv1 > backward",
                                         "Optimizer.step#SGD.step"};
  ASSERT_EQ(both.live().size(), 2 * step.size());
  for (std::size_t i = 0; i < both.live().size(); ++i) EXPECT_EQ(both.live()[i], step[i % step.size()]);
}

// `item` and `detach` make no gradient: they have the number of the next operator that does.
TEST(LiveRanges, OperatorsWithoutAGradientAreNotTheLayer) {
  BothPaths both;
  constexpr int kMain = 0, kBackward = 1;
  both.open(kMain, "aten::item, seq = 7"), both.close(kMain);
  both.open(kMain, "Net");
  both.open(kMain, "norm");
  both.open(kMain, "aten::detach, seq = 7");
  both.launch(kMain);
  both.close(kMain), both.close(kMain);
  both.open(kMain, "conv1");
  both.open(kMain, "aten::conv2d, seq = 7");
  both.launch(kMain);
  both.close(kMain), both.close(kMain), both.close(kMain);
  for (const int thread : {kBackward, kMain}) {  // a CPU's backward pass runs on the thread that calls it
    both.open(thread, "autograd::engine::evaluate_function: ConvolutionBackward0");
    both.open(thread, "ConvolutionBackward0, seq = 7");
    both.launch(thread);
    both.close(thread), both.close(thread);
  }
  const std::vector<std::string> want = {"Net > norm", "Net > conv1", "Net > conv1 > backward",
                                         "Net > conv1 > backward"};
  EXPECT_EQ(both.live(), want);
  EXPECT_EQ(both.recorded(), want);
}

TEST(LiveRanges, RemembersTheLastOperators) {
  ForwardOperators operators;
  constexpr std::uint64_t kForward = 1, kBackward = 2;
  operators.began(1, "first", kForward);
  operators.began(1, "of the backward pass", kBackward);
  EXPECT_EQ(operators.forward(1, kForward, false), "") << "of the same thread: it is forward";
  EXPECT_EQ(operators.forward(1, kForward, true), "first");
  EXPECT_EQ(operators.forward(1, kBackward, false), "first");
  for (std::int64_t mark = 2; mark < 100'000; ++mark) operators.began(mark, "other", kForward);
  EXPECT_EQ(operators.forward(1, kBackward, false), "") << "forgotten";
}

}  // namespace
}  // namespace headroom::inject
