// cuda:pixel_runs without a GPU: its plans cover every output once, whatever the shape, within the registers
// and the shared memory that kernels were compiled for. The kernel itself runs where there is a GPU
// (ops/operators_test.cc).
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/conv2d/cuda/pixel_runs_plan.h"
#include "ops/conv2d/cuda/shared.h"
#include "ops/operator.h"

namespace headroom {
namespace conv2d_cuda_pixel_runs_test {

using cuda::RunKind;
using cuda::RunsPlan;
using cuda::Sweep;

constexpr RunsDevice kH200{132, 227 * 1024};

Sweep forward(int batch, int channels, int height, int width, int maps, int kernel, int pad) {
  Sweep s{};
  s.batch = batch, s.groups = 1, s.channels = channels, s.maps = maps;
  s.in_h = height, s.in_w = width, s.out_h = height + 2 * pad - kernel + 1,
  s.out_w = width + 2 * pad - kernel + 1;
  s.kernel_h = s.kernel_w = kernel;
  s.mul_h = s.mul_w = s.div_h = s.div_w = s.step_h = s.step_w = 1;
  s.off_h = s.off_w = -pad;
  s.weight_map = s.depth(), s.weight_channel = s.taps(), s.weight_group = s.maps * s.weight_map;
  return s;
}

Sweep gradient_of(Sweep s) {
  std::swap(s.channels, s.maps), std::swap(s.in_h, s.out_h), std::swap(s.in_w, s.out_w);
  std::swap(s.weight_map, s.weight_channel);
  s.off_h = -s.off_h, s.off_w = -s.off_w, s.step_h = s.step_w = -1;
  return s;
}

void expect_image_inside(const Sweep& s, const RunsPlan& q) {
  EXPECT_GE(q.first_row, 0);
  EXPECT_LE(q.first_row + s.in_h, q.view_h);
  EXPECT_LE(q.first_column + s.in_w, q.pitch);
  EXPECT_EQ(q.first_column % q.unit, 0);
  EXPECT_EQ(s.in_w % q.unit, 0);
  EXPECT_EQ(q.pitch % 8, 4) << "rows that lie in different banks";
  EXPECT_LE(2 * (q.bytes + 1024), 228 * 1024) << "two blocks side by side";
  EXPECT_GE(q.workers, 1);
  EXPECT_LE(q.workers, s.batch);
}

void expect_all_outputs(const Sweep& s, const RunsPlan& q) {
  expect_image_inside(s, q);
  EXPECT_TRUE(cuda::run_fits(q.run, q.maps, s.kernel_w, q.kind));
  EXPECT_GE(q.runs * q.run, s.out_w);
  EXPECT_GE(q.map_groups * q.maps, s.maps);
  EXPECT_LE(q.maps, s.maps) << "the last group begins before the first map";
  EXPECT_EQ(q.items, s.out_h * q.runs * q.map_groups);
  EXPECT_GE(32 * q.item_warps, q.items);
  EXPECT_EQ(q.threads, 32 * q.item_warps * q.shares);
  EXPECT_LE(q.threads, cuda::kRunThreads);
  EXPECT_GE(q.shares * q.lines_of_share, q.lines);
  EXPECT_LT((q.shares - 1) * q.lines_of_share, q.lines) << "a share without lines";
  const int seen =
      q.kind == RunKind::whole_gradient ? q.run - s.kernel_w + 1 : q.runs * q.run + s.kernel_w - 1;
  EXPECT_GE(q.pitch, seen);
}

void expect_all_taps(const Sweep& s, const RunsPlan& q) {
  expect_image_inside(s, q);
  EXPECT_EQ(q.items, q.map_groups * s.channels * s.kernel_h);
  EXPECT_GE(q.threads, q.items * q.shares);
  EXPECT_LE(q.threads, cuda::kRunWeightThreads);
  EXPECT_GE(q.shares * q.rows_of_share, s.out_h);
  EXPECT_GE(4 * q.quads, s.out_w);
  EXPECT_EQ(s.out_w % q.dy_unit, 0);
  EXPECT_GE(q.pitch, 4 * q.quads + (s.kernel_w > 5 ? 8 : 4)) << "windows of the last quad";
}

TEST(PixelRuns, PlansCoverEveryOutputAndTap) {
  int planned = 0;
  std::string why;
  for (const int channels : {1, 2, 6, 16, 40})
    for (const int maps : {3, 4, 5, 6, 8, 16, 33})
      for (const int kernel : {3, 5, 7})
        for (const int pad : {0, 1, 2, 6})
          for (const auto& [height, width] :
               {std::pair{7, 7}, {9, 11}, {14, 14}, {13, 17}, {28, 28}, {8, 41}}) {
            if (pad >= kernel) continue;
            const Sweep s = forward(300, channels, height, width, maps, kernel, pad), back = gradient_of(s);
            SCOPED_TRACE(fmt::format("{} x {} x {}, {} maps, windows of {}, padding {}", channels, height,
                                     width, maps, kernel, pad));
            if (const auto q = runs_plan(s, kH200, why)) expect_all_outputs(s, *q), ++planned;
            if (const auto q = runs_plan(back, kH200, why)) expect_all_outputs(back, *q), ++planned;
            if (const auto q = runs_weight_plan(s, kH200, why)) expect_all_taps(s, *q), ++planned;
          }
  EXPECT_GT(planned, 1000);
}

TEST(PixelRuns, AWholeRowOfAGradientNeedsNoPaddingBesideIt) {
  std::string why;
  const Sweep c3 = gradient_of(forward(256, 6, 14, 14, 16, 5, 0));
  const auto q = runs_plan(c3, kH200, why);
  ASSERT_TRUE(q.has_value()) << why;
  EXPECT_EQ(q->kind, RunKind::whole_gradient);
  EXPECT_EQ(q->run, 14);
  EXPECT_EQ(q->shares, 8) << "warps share the 80 lines";
  const Sweep padded = gradient_of(forward(256, 6, 14, 14, 16, 5, 1));
  EXPECT_EQ(runs_plan(padded, kH200, why)->kind, RunKind::gradient);
}

TEST(PixelRuns, PaysButForLongSumsOfManyPixels) {
  Capabilities gpu{.kind = DeviceKind::cuda, .name = "H200"};
  gpu.compute_capability = 90, gpu.multiprocessors = 132;
  const auto& kernels = operator_of("conv2d").kernels;
  const auto& pixel_runs = *std::ranges::find(kernels, "cuda:pixel_runs", &Kernel::name);
  const auto pays = [&](std::int64_t batch) {
    const Problem p{"conv2d", {{{batch, 6, 14, 14}}, {{16, 6, 5, 5}}, {{16}}}, {{{batch, 16, 10, 10}}}, {}};
    return pixel_runs.pays(p, {gpu, {}}).ok;
  };
  EXPECT_TRUE(pays(256));
  EXPECT_FALSE(pays(2560));
}

TEST(PixelRuns, RefusesWithAReason) {
  std::string why;
  Sweep strided = forward(4, 6, 14, 14, 16, 5, 0);
  strided.mul_w = 2;
  EXPECT_FALSE(runs_plan(strided, kH200, why));
  EXPECT_EQ(why, "needs stride 1");
  EXPECT_FALSE(runs_plan(forward(4, 64, 112, 112, 64, 3, 1), kH200, why));
  EXPECT_EQ(why, "images of 65,536 elements and more");
  EXPECT_FALSE(runs_plan(forward(4, 6, 60, 60, 8, 3, 1), kH200, why));
  EXPECT_NE(why.find("too many runs"), std::string::npos) << why;
  EXPECT_FALSE(runs_weight_plan(forward(4, 64, 14, 14, 64, 3, 1), kH200, why));
  EXPECT_EQ(why, "more rows of taps than threads");
}

}  // namespace conv2d_cuda_pixel_runs_test
}  // namespace headroom
