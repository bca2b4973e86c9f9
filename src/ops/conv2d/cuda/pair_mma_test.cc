// cuda:pair_mma without a GPU: its plans, and whole launches by its own indices, against the reference in
// fp64. The kernel itself runs on these cases, and more, where there is a GPU (ops/operators_test.cc).
#include <gtest/gtest.h>

#include <cmath>

#include "ops/conv2d/cuda/pair_plan.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace conv2d_cuda_pair_mma_test {

using cuda::BlockPooling;
using cuda::BlockShape;
using cuda::PairPlan;
using cuda::PairTile;
using Ints = std::vector<std::int64_t>;

Target h200() {
  Capabilities gpu{.kind = DeviceKind::cuda, .name = "H200"};
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  return {gpu, Policy{}};
}

Attrs pooled(const char* kind, Attrs more = {}) {
  more.set("pool", std::string(kind));
  more.set("pool_kernel", Ints{2, 2});
  more.set("bias", std::int64_t{0});
  more.set("norm", std::int64_t{0});
  more.set("residual", std::int64_t{0});
  return more;
}

struct PairCase {
  const char* what;
  Shape x, w;
  Attrs attrs = {};
};

std::vector<PairCase> pair_cases() {
  const Attrs padded = {{"pads", Ints{2, 2, 2, 2}}};
  return {{"ece408 conv1", {2, 1, 72, 72}, {12, 1, 7, 7}, pooled("max")},
          {"ece408 conv1, many images", {600, 1, 20, 20}, {12, 1, 7, 7}},
          {"lenet5 C1", {3, 1, 28, 28}, {6, 1, 5, 5}, pooled("max", padded)},
          {"lenet5 C1, means", {3, 1, 28, 28}, {6, 1, 5, 5}, pooled("avg", padded)},
          {"odd sizes, pads of one", {2, 1, 13, 17}, {5, 1, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
          {"uneven pads and windows", {2, 1, 15, 18}, {9, 1, 4, 6}, {{"pads", Ints{0, 3, 1, 2}}}},
          {"4 rows of taps, pooled", {2, 1, 15, 19}, {3, 1, 4, 5}, pooled("max")},
          {"6 rows of taps", {1, 1, 11, 9}, {4, 1, 6, 2}},
          {"one tap", {2, 1, 4, 5}, {1, 1, 1, 1}},
          {"more maps than a block has", {1, 1, 9, 9}, {29, 1, 3, 3}},
          {"bands of a large image", {1, 1, 300, 270}, {5, 1, 7, 7}, pooled("max")}};
}

// What a launch computes, by the words, taps and places that the kernel takes; and how often each output.
struct Walk {
  Values y;
  std::vector<int> writes;
};

// One output of a quad: the words of its window by the weights of its map.
double walked_sum(const BlockShape& s, const PairPlan& q, const Values& view, const Values& w, int window,
                  int map, int lower, int right) {
  double sum = 0;
  for (int step = 0; step < q.steps; ++step)
    for (int half = 0; half < 2; ++half)
      for (int t = 0; t < 4; ++t)
        for (int pixel = 0; pixel < 2; ++pixel) {
          const int row = cuda::pair_row(q.steps, step, 2 * half + lower);
          const int word = 2 * (window + row / 2 * q.pitch + t) + row % 2;
          const int at = cuda::pair_weight(s, cuda::pair_tap(q.steps, step, half), t, pixel, right);
          const double x = view.at(std::size_t(2 * word + pixel));
          EXPECT_TRUE(std::isfinite(x)) << "nothing was written there";
          sum += at < 0 ? 0 * x : x * w.at(std::size_t(map * s.depth() + at));
        }
  return sum;
}

Values view_of(const BlockShape& s, const PairPlan& q, const PairTile& tile, const Values& x) {
  Values view(std::size_t(2 * q.view_words), NAN);
  for (int word = 0; word < q.words(); ++word) {
    const cuda::PairSource from = cuda::pair_source(s, q, tile, word);
    for (int pixel = 0; pixel < 2; ++pixel) {
      const int column = from.column + pixel;
      const bool inside = from.row >= 0 && from.row < s.in_h && column >= 0 && column < s.in_w;
      view.at(std::size_t(2 * from.to + pixel)) =
          inside ? x.at(std::size_t((tile.image * s.in_h + from.row) * s.in_w + column)) : 0;
    }
  }
  return view;
}

Walk walk(const BlockShape& s, const PairPlan& q, const Values& x, const Values& w) {
  const std::size_t outputs = std::size_t(s.batch) * s.maps * s.out_h * s.out_w;
  Walk walk{Values(outputs, 0), std::vector<int>(outputs, 0)};
  const auto store = [&](int image, int map, int row, int column, double value) {
    if (row >= s.out_h || column >= s.out_w) return;
    const std::size_t at = ((std::size_t(image) * s.maps + map) * s.out_h + row) * s.out_w + column;
    walk.y.at(at) = value, ++walk.writes.at(at);
  };
  for (int index = 0; index < q.tiles; ++index) {
    const PairTile tile = cuda::pair_tile(q, index);
    const Values view = view_of(s, q, tile, x);
    for (int place = 0; place < tile.places; ++place)
      for (int map = 0; map < s.maps; ++map) {
        double v[4];
        for (int e = 0; e < 4; ++e)
          v[e] = walked_sum(s, q, view, w, cuda::pair_window(q, place), map, e / 2, e % 2);
        const int row = tile.first_row + place / q.quad_w, column = place % q.quad_w;
        if (s.pooling == BlockPooling::max)
          store(tile.image, map, row, column, std::max({v[0], v[1], v[2], v[3]}));
        else if (s.pooling == BlockPooling::mean)
          store(tile.image, map, row, column, (v[0] + v[1] + v[2] + v[3]) / 4);
        else
          for (int e = 0; e < 4; ++e) store(tile.image, map, 2 * row + e / 2, 2 * column + e % 2, v[e]);
      }
  }
  return walk;
}

TEST(PairMma, ItsIndicesMakeTheConvolution) {
  for (const PairCase& c : pair_cases())
    for (const bool split : {true, false}) {
      SCOPED_TRACE(c.what);
      const Operator& op = operator_of(c.attrs.has("pool") ? "conv2d_block" : "conv2d");
      const Case problem_case{.inputs = {c.x, c.w}, .attrs = c.attrs};
      const Problem p = problem_of(op, problem_case, DType::f64);
      const std::vector<Values> inputs = inputs_of(p, problem_case, Numbers::normal, 17);
      const BlockShape s = block_shape(parse_conv2d(p));
      std::string why;
      const auto plan = pair_plan(s, split, h200(), why);
      ASSERT_TRUE(plan) << why;
      const Walk got = walk(s, *plan, inputs[0], inputs[1]);
      const Values want = run_kernel(reference_of(op), p, inputs).outputs[0];
      ASSERT_EQ(got.y.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got.writes[i], 1) << i;
        ASSERT_NEAR(got.y[i], want[i], 1e-12 * (1 + std::abs(want[i]))) << i;
      }
    }
}

TEST(PairMma, BlocksOfAMultiprocessorFitIntoItsSharedMemory) {
  for (const PairCase& c : pair_cases()) {
    SCOPED_TRACE(c.what);
    const Operator& op = operator_of(c.attrs.has("pool") ? "conv2d_block" : "conv2d");
    std::string why;
    const auto plan = pair_plan(
        block_shape(parse_conv2d(problem_of(op, {.inputs = {c.x, c.w}, .attrs = c.attrs}, DType::f32))), true,
        h200(), why);
    ASSERT_TRUE(plan) << why;
    EXPECT_LE((plan->bytes + 1024) * cuda::kPairBlocks, shared_bytes(h200()) + 1024);
    EXPECT_LE(plan->workers * plan->map_blocks, 132 * cuda::kPairBlocks);
    EXPECT_LE(plan->workers, plan->tiles);
  }
}

TEST(PairMma, WhatItCannotTakeIsRefused) {
  const auto reason = [](const Shape& x, const Shape& w, const Attrs& attrs = {}) {
    const Operator& op = operator_of(attrs.has("pool") ? "conv2d_block" : "conv2d");
    const Problem p = problem_of(op, {.inputs = {x, w}, .attrs = attrs}, DType::f32);
    for (const Kernel& kernel : op.kernels)
      if (kernel.name == "cuda:pair_mma") return accepts(kernel, p, h200()).reason;
    return std::string("not in the list");
  };
  EXPECT_EQ(reason({2, 1, 9, 9}, {4, 1, 3, 3}), "");
  EXPECT_NE(reason({2, 3, 9, 9}, {4, 3, 3, 3}).find("one channel"), std::string::npos);
  EXPECT_NE(reason({2, 1, 19, 19}, {4, 1, 8, 3}).find("7 x 7"), std::string::npos);
  EXPECT_NE(reason({2, 1, 9, 9}, {4, 1, 3, 3}, {{"strides", Ints{2, 1}}}).find("strides"), std::string::npos);
  Attrs over = pooled("max");
  over.set("pool_ceil_mode", std::int64_t{1});
  EXPECT_NE(reason({1, 1, 11, 11}, {4, 1, 3, 3}, over).find("hangs over"), std::string::npos);
  over = pooled("max");
  over.set("pool_kernel", Ints{3, 3});
  EXPECT_NE(reason({1, 1, 11, 11}, {4, 1, 3, 3}, over).find("2 x 2"), std::string::npos);
}

}  // namespace conv2d_cuda_pair_mma_test
}  // namespace headroom::testing
