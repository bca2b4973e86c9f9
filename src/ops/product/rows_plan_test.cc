// What "cuda:fp16x3_rows" computes without a device: which factor it reads as it is, its tiles, and where a
// lane finds values in shared memory.
#include "ops/product/rows_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "ops/cuda/rows_layout.h"
#include "ops/operator.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace product_rows_plan_test {

constexpr int kUnits = 132;

TEST(RowsPlan, TheLargerFactorIsReadAsItIs) {
  const RowsPlan images = plan_rows({.trans_b = true, .m = 10000, .n = 160, .k = 17496}, kUnits);
  EXPECT_FALSE(images.swapped);
  EXPECT_EQ(images.rows, 10000);
  EXPECT_EQ(images.columns, 160);
  EXPECT_TRUE(images.along_rows && images.along_columns);
  const RowsPlan weights = plan_rows({.trans_b = true, .m = 64, .n = 4096, .k = 9216}, kUnits);
  EXPECT_TRUE(weights.swapped);
  EXPECT_EQ(weights.rows, 4096);
  EXPECT_TRUE(weights.along_rows && weights.along_columns);
  const RowsPlan across = plan_rows({.trans_a = true, .m = 64, .n = 4096, .k = 9216}, kUnits);
  EXPECT_FALSE(across.along_rows || across.along_columns);
}

TEST(RowsPlan, TilesCoverTheColumnsAndBlocksTheSteps) {
  for (const std::int64_t columns : {1, 64, 65, 128, 160, 161, 400})
    for (const std::int64_t k : {1, 64, 65, 700, 17496})
      for (const bool along : {true, false}) {
        const RowsPlan plan = plan_rows({.trans_b = along, .m = 1000, .n = columns, .k = k}, kUnits);
        EXPECT_EQ(plan.tiles, 8 * ((columns + plan.tile_n - 1) / plan.tile_n));
        EXPECT_GE(64 * plan.steps, k);
        EXPECT_LE(plan.splits, plan.steps);
        EXPECT_TRUE(along || plan.tile_n != 160);
        EXPECT_GE(plan.workspace - plan.parts, std::size_t(4 * columns * k));
      }
  EXPECT_EQ(plan_rows({.trans_b = true, .m = 10000, .n = 160, .k = 17496}, kUnits).tile_n, 160);
}

TEST(RowsPlan, PaysWhereOneFactorIsLargeAndTheOtherThin) {
  const ProductKernel kernel = product_fp16x3_rows();
  const Target hopper(
      Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = kUnits});
  const auto pays = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool tf32 = false) {
    return kernel
        .pays({.tf32 = tf32, .trans_b = true, .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n}, hopper)
        .ok;
  };
  EXPECT_TRUE(pays(10000, 160, 17496));
  EXPECT_TRUE(pays(64, 4096, 9216));
  EXPECT_TRUE(pays(16, 4096, 25088, true));
  EXPECT_FALSE(pays(64, 4096, 9216, true));
  EXPECT_TRUE(pays(100, 160, 17496, true)) << "the library does not share so long sums of few tiles";
  EXPECT_FALSE(pays(100, 160, 2000, true));
  EXPECT_FALSE(pays(1000, 160, 17496, true)) << "here it does";
  EXPECT_FALSE(pays(3000, 160, 17496, true));
  EXPECT_TRUE(pays(10000, 160, 17496, true)) << "read once";
  EXPECT_FALSE(pays(100, 160, 17496)) << "both factors in parts are faster";
  EXPECT_FALSE(pays(800, 100, 784));
  EXPECT_FALSE(pays(4096, 4096, 4096));
  EXPECT_FALSE(
      kernel.accepts({.m = 10000, .n = 160, .k = 17497, .lda = 17497, .ldb = 160, .ldc = 160}, hopper).ok);
}

// Half a warp reads 8 bytes a lane along k, all lanes 4 bytes across it: no two in one bank, and every value
// of a stage has a place of its own.
template <bool kAlong>
void check_banks() {
  std::set<unsigned> places;
  for (int row = 0; row < cuda::kRowsOfTile; ++row)
    for (int k = 0; k < cuda::kRowsDepth; ++k) places.insert(cuda::row_value_at<kAlong>(row, k));
  EXPECT_EQ(places.size(), std::size_t(cuda::kRowsOfTile * cuda::kRowsDepth));
  EXPECT_EQ(*places.rbegin(), unsigned(cuda::kRowsOfTile * cuda::kRowsDepth * 4 - 4));
  const int together = kAlong ? 16 : 32, words = kAlong ? 2 : 1;
  for (int first = 0; first < 32; first += together)
    for (int step = 0; step < 4; ++step) {
      std::set<unsigned> banks;
      for (int lane = first; lane < first + together; ++lane)
        for (int word = 0; word < words; ++word) {
          const int row = cuda::row_of_group<kAlong>(lane / 4), k = 16 * step + lane % 4 * 2 + word;
          banks.insert(cuda::row_value_at<kAlong>(row, k) / 4 % 32);
        }
      EXPECT_EQ(banks.size(), 32u) << "step " << step << " from lane " << first;
    }
}

TEST(RowsLayout, LanesMeetInNoBank) {
  check_banks<true>();
  check_banks<false>();
}

}  // namespace product_rows_plan_test
}  // namespace headroom
