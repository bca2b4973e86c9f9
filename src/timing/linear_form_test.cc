#include <gtest/gtest.h>

#include "timing/calibration.h"
#include "timing/forms.h"

namespace headroom {
namespace {

TimingRow product(double batch, double m, double n, double k) {
  return {.group = "fp32", .sizes = {batch, m, n, k}};
}

std::vector<double> starting_linear() { return starting_values(linear_form().constants("fp32")); }

std::string tile_of(const TimingRow& row, const Machine& machine, const Traits& traits = {}) {
  const auto prepared = linear_form().prepare(row, machine, traits);
  return prepared->explain(fastest(*prepared, starting_linear()).candidate, starting_linear()).choice;
}

TEST(LinearForm, TilesFollowTheGeneration) {
  const TimingRow batched = product(64, 700, 300, 20);
  EXPECT_EQ(tile_of(batched, find_machine("h100-sxm")), "tile 128x128");
  EXPECT_EQ(tile_of(batched, find_machine("gtx1080ti")), "tile 64x128");
  EXPECT_EQ(tile_of(batched, find_machine("rtx2080ti")), "tile 64x64");
  EXPECT_EQ(tile_of(batched, find_machine("h100-sxm"), {{"batched_tiles", {"32x64"}}}), "tile 64x32")
      << "tiles that kernel names show come first";
}

TEST(LinearForm, OnlyDevicesOfOneGenerationLendTheirTiles) {
  FormCalibration c;
  c.members = {{"v100-pcie", 70, starting_linear(), {{"batched_tiles", {"32x32"}}}},
               {"a100-40gb-pcie", 80, starting_linear(), {{"batched_tiles", {"64x64"}}}}};
  EXPECT_EQ(c.traits_for(find_machine("titan-v")).at("batched_tiles").front(), "32x32");
  EXPECT_TRUE(c.traits_for(find_machine("l4")).empty());
  EXPECT_TRUE(c.traits_for(find_machine("h100-sxm")).empty());
}

// Times of long kernels that the power limit slows down, beside those of the same board without a limit.
TEST(LinearForm, ALowPowerLimitSlowsLongKernelsDown) {
  const Machine limited = find_machine("t4");
  Machine free = limited;
  free.power_w = 0;
  const auto ratio = [&](const TimingRow& row) {
    return fastest(*linear_form().prepare(row, limited, {}), starting_linear()).seconds /
           fastest(*linear_form().prepare(row, free, {}), starting_linear()).seconds;
  };
  EXPECT_LT(ratio(product(1, 128, 256, 512)), 1.1);
  EXPECT_GT(ratio(product(1, 8192, 8192, 8192)), 1.8);
}

TEST(LinearForm, RowsOffCacheLinesCostMoreBeforeVolta) {
  const auto us = [](const char* machine, double reduction) {
    const auto row = linear_form().prepare(product(1, 2048, reduction, 2048), find_machine(machine), {});
    return 1e6 * fastest(*row, starting_linear()).seconds;
  };
  EXPECT_GT(us("p4", 4095), 1.1 * us("p4", 4096));
  EXPECT_LT(us("v100-pcie", 4095), 1.01 * us("v100-pcie", 4096));
  EXPECT_EQ(tile_of(product(1, 2048, 4096, 2048), find_machine("p4")), "tile 128x128");
}

}  // namespace
}  // namespace headroom
