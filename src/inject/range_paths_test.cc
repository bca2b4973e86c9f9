#include "inject/range_paths.h"

#include <gtest/gtest.h>

#include "inject/aggregator.h"

namespace headroom::inject {
namespace {

constexpr std::uint64_t kMain = 1, kBackward = 2;

struct Marked {
  Aggregator aggregator;
  void range(std::string name, std::uint64_t thread, std::int64_t begin, std::int64_t end) {
    const std::int64_t mark = operator_mark(name);
    aggregator.range(name, thread, {begin, end}, mark);
  }
  void call(std::uint64_t thread, std::uint32_t correlation, std::int64_t at) {
    aggregator.call("cudaLaunchKernel", false, thread, correlation, {at, at + 1});
  }
  std::string path_of(std::uint32_t correlation) const {
    const ProcessRecord record = aggregator.record();
    const RangePaths paths(record);
    const std::string* const path = paths.of_call(correlation);
    return path == nullptr ? "" : *path;
  }
};

TEST(RangePaths, OperatorsOfTorchLoseTheirNumbers) {
  for (const auto& [text, name, mark] : {std::tuple("aten::conv2d, seq = 3, op_id = 17", "aten::conv2d", 4),
                                         {"aten::add_, op_id = 5, sizes = [[1, 2]]", "aten::add_", -1},
                                         {"aten::mm, seq = 0", "aten::mm", 1},
                                         {"forward, of mine", "forward, of mine", 0}}) {
    std::string cut = text;
    EXPECT_EQ(operator_mark(cut), mark) << text;
    EXPECT_EQ(cut, name);
  }
}

TEST(RangePaths, ThreadsHaveTheirOwnRanges) {
  Marked m;
  m.range("step", kMain, 10, 100);
  m.range("inner", kMain, 20, 50);
  m.call(kMain, 1, 5);
  m.call(kMain, 2, 15);
  m.call(kMain, 3, 30);
  m.call(kMain, 4, 60);
  m.call(kBackward, 5, 30);
  m.call(kMain, 6, 120);
  const std::vector<std::string> paths = {m.path_of(1), m.path_of(2), m.path_of(3),
                                          m.path_of(4), m.path_of(5), m.path_of(6)};
  EXPECT_EQ(paths, (std::vector<std::string>{"", "step", "step > inner", "step", "", ""}));
}

TEST(RangePaths, BackwardOperatorsBelongToTheirLayer) {
  Marked m;
  m.range("Net", kMain, 10, 100);
  m.range("conv1", kMain, 20, 40);
  m.range("aten::conv2d, seq = 7, op_id = 1", kMain, 21, 39);
  m.range("aten::convolution, seq = 7, op_id = 2", kMain, 22, 38);
  m.range("fc", kMain, 50, 60);
  m.range("aten::linear, seq = 8, op_id = 3", kMain, 51, 59);
  m.range("autograd::engine::evaluate_function: AddmmBackward0, seq = 8, op_id = 4", kBackward, 110, 130);
  m.range("aten::mm, op_id = 5", kBackward, 112, 120);
  m.range("ConvolutionBackward0, seq = 7, op_id = 6", kBackward, 140, 160);
  m.range("Optimizer.step#SGD.step, op_id = 7", kMain, 200, 220);
  m.range("aten::add_, op_id = 8", kMain, 201, 210);
  m.call(kMain, 1, 25);
  m.call(kMain, 2, 55);
  m.call(kBackward, 3, 115);
  m.call(kBackward, 4, 150);
  m.call(kMain, 5, 205);
  EXPECT_EQ(m.path_of(1), "Net > conv1");
  EXPECT_EQ(m.path_of(2), "Net > fc");
  EXPECT_EQ(m.path_of(3), "Net > fc > backward");
  EXPECT_EQ(m.path_of(4), "Net > conv1 > backward");
  EXPECT_EQ(m.path_of(5), "Optimizer.step#SGD.step") << "no module is around it";
}

}  // namespace
}  // namespace headroom::inject
