// The threads that kernels take on a machine of 16 cores, where waking 2, 4, 8, 16 of them costs 1.5, 2, 3, 5
// us.

#include <gtest/gtest.h>

#include "ops/cpu/gemm_shares.h"
#include "ops/cpu/image_shares.h"
#include "ops/cpu/packed_gemm.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace cpu_thread_choice_test {

struct ThreadChoice : ::testing::Test {
  ThreadChoice() { use_team_costs(TeamCosts({0, 1.5e-6, 2e-6, 3e-6, 5e-6})); }
  ~ThreadChoice() override { use_team_costs(TeamCosts()); }
  static int product(const GemmExtent& extent, int limit = 16) {
    const gemm_tile::Tile<float> avx512{.rows = 12, .columns = 32, .lanes = 16, .term_bytes = 2048};
    return product_threads(avx512, extent, limit);
  }
  static int loop(std::int64_t elements) { return loop_threads(elements, kElementwiseGrain, 16); }
};

// 784-100-10, batch 800.
TEST_F(ThreadChoice, StepOfMlp100) {
  EXPECT_EQ(product({800, 100, 784}), 16);
  EXPECT_EQ(product({100, 784, 800}), 16) << "gradient of the weights";
  EXPECT_EQ(product({800, 10, 100}), 5);
  EXPECT_EQ(product({800, 100, 10}), 4) << "gradient of the hidden layer";
  EXPECT_EQ(product({10, 100, 800}), 3);
  EXPECT_EQ(loop(800 * 100), 4) << "slope of the activation, update of the weights";
  EXPECT_EQ(loop(800 * 10), 1);
  EXPECT_EQ(loop(100 * 10), 1);
}

// 784-64-10, batch 3200.
TEST_F(ThreadChoice, StepOfMlp64) {
  EXPECT_EQ(product({3200, 64, 784}), 16);
  EXPECT_EQ(product({64, 784, 3200}), 16);
  EXPECT_EQ(product({3200, 10, 64}), 8);
  EXPECT_EQ(loop(3200 * 64), 9);
  EXPECT_EQ(loop(784 * 64), 3);
}

// Its linear layers, batch 256.
TEST_F(ThreadChoice, StepOfLenet5) {
  EXPECT_EQ(product({256, 120, 400}), 14);
  EXPECT_EQ(product({256, 84, 120}), 7);
  EXPECT_EQ(product({256, 10, 84}), 3);
  EXPECT_EQ(loop(256 * 6 * 28 * 28), 15);
}

TEST_F(ThreadChoice, ExpensiveThreadsAreTakenLess) {
  const int before = product({800, 10, 100});
  use_team_costs(TeamCosts({0, 30e-6, 40e-6, 60e-6, 100e-6}));
  EXPECT_LT(product({800, 10, 100}), before);
  EXPECT_EQ(loop(800 * 100), 1);
  EXPECT_EQ(product({4096, 4096, 4096}), 16);
}

// Whole images are of any length: each is worth a thread.
TEST_F(ThreadChoice, LongItemsAreNotCounted) {
  EXPECT_EQ(loop_threads(16, 1, 16), 16);
  EXPECT_EQ(loop_threads(3, 1, 16), 3);
  EXPECT_EQ(loop_threads(0, 1, 16), 1);
}

// How long the slowest thread works, in images.
double longest(std::int64_t images, int threads, std::int64_t max_parts) {
  const ImageShares shared = image_shares(images, threads, max_parts);
  const std::int64_t tasks = (images - shared.whole) * shared.parts;
  return static_cast<double>(shared.whole / threads) +
         static_cast<double>(packed::pieces(tasks, threads)) / static_cast<double>(shared.parts);
}

TEST(ImageSharing, TheLastImagesAreSharedOutInParts) {
  EXPECT_EQ(image_shares(100, 16, 16).whole, 96);
  EXPECT_EQ(image_shares(100, 16, 16).parts, 4);
  EXPECT_EQ(image_shares(96, 16, 16).whole, 96);
  EXPECT_EQ(image_shares(7, 1, 16).whole, 7);
  EXPECT_EQ(image_shares(100, 16, 0).parts, 1) << "images that cannot be divided";
  EXPECT_EQ(image_shares(1000, 16, 16).parts, 1) << "63 rounds instead of 62.5 are as good";
  for (int threads : {2, 3, 7, 16})
    for (std::int64_t images = 4 * threads; images < 200; ++images)
      EXPECT_LE(longest(images, threads, 16), 1.05 * static_cast<double>(images) / threads)
          << images << " images, " << threads << " threads";
}

using packed::Grid, packed::grid_of;
bool operator==(const Grid& a, std::pair<int, int> b) { return a.down == b.first && a.across == b.second; }

TEST(GemmShares, SharesAreAsSquareAsTheirSizesAllow) {
  auto grid = [](int threads, std::int64_t m, std::int64_t n) {
    return grid_of(threads, packed::pieces(m, 12), packed::pieces(n, 32), 12, 32);
  };
  EXPECT_TRUE(grid(1, 512, 512) == std::pair(1, 1));
  EXPECT_TRUE(grid(2, 3000, 512) == std::pair(2, 1));
  EXPECT_TRUE(grid(16, 512, 512) == std::pair(4, 4)) << "128 x 128 each";
  EXPECT_TRUE(grid(16, 4096, 4096) == std::pair(4, 4));
  EXPECT_TRUE(grid(16, 100000, 32) == std::pair(16, 1));
  EXPECT_TRUE(grid(16, 12, 100000) == std::pair(1, 16));
}

// What a thread of 16 does of the longest share, beside what it would do of equal ones.
double idle_share(std::int64_t tasks) {
  return 1 - static_cast<double>(tasks) / static_cast<double>(packed::pieces(tasks, 16) * 16);
}

TEST(GemmShares, FewTilesWithManyTermsKeep16ThreadsBusy) {
  auto split = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return packed::term_split(16, packed::pieces(m, 12), packed::pieces(n, 32), packed::pieces(k, 512),
                              m * n * 4);
  };
  const packed::TermSplit classifier = split(100, 160, 17'496);
  EXPECT_EQ(classifier.row_groups, 1) << "each panel of B is packed once";
  EXPECT_EQ(classifier.blocks, 35);
  EXPECT_LT(idle_share(5 * 35), 0.01);
  EXPECT_TRUE(split(24, 588, 72'900)) << "gradient of the weights of a convolution";
  EXPECT_LT(idle_share(19 * split(24, 588, 72'900).blocks), 0.05);
  EXPECT_EQ(split(500, 32, 20'000).row_groups, 2) << "40 blocks of terms leave a quarter of 48 idle";
  EXPECT_FALSE(split(512, 512, 512));
  EXPECT_FALSE(split(2048, 2048, 2048)) << "enough tiles";
  EXPECT_FALSE(split(10, 100, 800)) << "two blocks of terms";
}

TEST(GemmShares, SquaresLeaveFewOf16ThreadsIdle) {
  for (std::int64_t size : {512, 1024, 2048, 4096}) {
    const std::int64_t rows = packed::pieces(size, 12), columns = packed::pieces(size, 32);
    const Grid grid = grid_of(16, rows, columns, 12, 32);
    const std::int64_t largest = packed::pieces(rows, grid.down) * packed::pieces(columns, grid.across);
    EXPECT_LT(static_cast<double>(16 * largest), 1.06 * static_cast<double>(rows * columns)) << size;
  }
}

// Every tile once, whoever does it.
TEST(GemmShares, TasksCoverTheBlock) {
  for (int threads : {1, 2, 5, 16})
    for (auto [rows, columns] : {std::pair<int, int>{1, 1}, {7, 30}, {43, 16}, {3, 96}}) {
      const Grid grid = grid_of(threads, rows, columns, 12, 32);
      const packed::TaskQueues queues(grid);
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(rows * columns));
      TeamBarrier barrier(threads);
      run_team(threads, [&](int thread) {
        for (std::int64_t round = 0; round < 3; ++round) {
          if (round > 0) barrier.wait();
          queues.run(thread, round, rows, columns, 24,
                     [&](std::int64_t i, std::int64_t first, std::int64_t end) {
                       for (std::int64_t j = first; j < end; ++j)
                         ++done[static_cast<std::size_t>(i * columns + j)];
                     });
        }
      });
      for (const auto& times : done) EXPECT_EQ(times, 3) << threads << ": " << rows << " x " << columns;
    }
}

}  // namespace cpu_thread_choice_test
}  // namespace headroom
