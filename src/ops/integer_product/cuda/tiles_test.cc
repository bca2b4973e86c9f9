// What the tiles of byte products promise without a device.
#include <gtest/gtest.h>

#include "ops/integer_product/integer_product.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace integer_product_cuda_tiles_test {

struct Planned {
  Work work;
  std::size_t workspace;
};

Planned planned(const std::vector<Shape>& shapes, int multiprocessors = 132) {
  Capabilities device;
  device.kind = DeviceKind::cuda;
  device.compute_capability = 90;
  device.multiprocessors = multiprocessors;
  const Problem p =
      problem_of(operator_of("matmul_integer"),
                 {.inputs = shapes, .dtypes = {DType::u8, DType::i8, DType::u8, DType::i8}}, DType::f32);
  const Kernel kernel = matmul_integer_cuda_tiles();
  return {kernel.work(p, device), kernel.workspace(p, device)};
}

TEST(ByteTiles, SmallTilesWhereLargeOnesWouldNotFillTheDevice) {
  const std::vector<Shape> square = {{1024, 1024}, {1024, 1024}, Shape{}, Shape{}};
  KernelLaunch main = planned(square).work.main();
  EXPECT_EQ(main.tile.m, 64);
  EXPECT_EQ(main.blocks, 16 * 16);
  main = planned(square, 60).work.main();
  EXPECT_EQ(main.tile.m, 128);
  EXPECT_EQ(main.blocks, 8 * 8);
}

TEST(ByteTiles, OneLaunchAndNoCopiesOfRowsThatAreWhole) {
  const Planned p = planned({{100, 64}, {64, 48}, {100}, {48}});
  EXPECT_EQ(p.work.launch_count(), 1);
  EXPECT_EQ(p.workspace, 0u);
}

TEST(ByteTiles, CopiesRowsThatBeginBetweenMultiplesOf16Bytes) {
  const Planned a = planned({{10, 100}, {100, 48}, Shape{}, Shape{}});
  EXPECT_EQ(a.work.launch_count(), 2);
  EXPECT_EQ(a.workspace, align_up(10 * 112));
  EXPECT_EQ(a.work.launches[1].bytes, 2 * 10 * 100);
  const Planned both = planned({{10, 100}, {100, 47}, Shape{}, Shape{}});
  EXPECT_EQ(both.work.launch_count(), 3);
  EXPECT_EQ(both.workspace, align_up(10 * 112) + align_up(100 * 48));
}

TEST(ByteTiles, BatchesTakeOneLaunch) {
  const KernelLaunch many = planned({{5, 3, 70, 64}, {5, 3, 64, 48}, {70}, {48}}).work.main();
  EXPECT_EQ(many.count, 1);
  EXPECT_EQ(many.blocks, 15 * 2);
  const KernelLaunch folded = planned({{5, 3, 70, 64}, {64, 48}, {1}, {48}}).work.main();
  EXPECT_EQ(folded.extent.m, 5 * 3 * 70);
  EXPECT_EQ(folded.blocks, 17);
}

}  // namespace integer_product_cuda_tiles_test
}  // namespace headroom::testing
