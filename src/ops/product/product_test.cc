#include "ops/product/product.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/operator.h"
#include "ops/product/cuda/tile_sectors.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace product_test {

const Target kHopper(Capabilities{
    .kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132});

TEST(Products, OffsetsBecomeFewRuns) {
  const auto even = runs_of({0, 6, 12, 18}, {0, 0, 0, 0}, 9);
  ASSERT_EQ(even.size(), 1u);
  EXPECT_EQ(even[0].count, 4);
  EXPECT_EQ(even[0].stride_a, 6);
  EXPECT_EQ(even[0].stride_b, 0);
  EXPECT_EQ(even[0].stride_c, 9);
  // Both sides broadcast: one run for each matrix of a.
  const auto uneven = runs_of({0, 0, 0, 6, 6, 6}, {0, 5, 10, 0, 5, 10}, 9);
  ASSERT_EQ(uneven.size(), 2u);
  EXPECT_EQ(uneven[1].count, 3);
  EXPECT_EQ(uneven[1].a, 6);
  EXPECT_EQ(uneven[1].stride_b, 5);
  EXPECT_EQ(uneven[1].c, 27);
}

TEST(Products, EveryOffsetIsKept) {
  const std::vector<std::int64_t> a = {0, 4, 4, 8, 20, 16, 12}, b = {3, 3, 0, 0, 0, 1, 2};
  std::size_t i = 0;
  for (const ProductRun& run : runs_of(a, b, 2))
    for (std::int64_t j = 0; j < run.count; ++j, ++i) {
      EXPECT_EQ(run.a + j * run.stride_a, a[i]);
      EXPECT_EQ(run.b + j * run.stride_b, b[i]);
      EXPECT_EQ(run.c + j * run.stride_c, 2 * static_cast<std::int64_t>(i));
    }
  EXPECT_EQ(i, a.size());
}

TEST(Products, SplitsCoverTheSum) {
  for (const std::int64_t k : {1, 31, 400, 784, 3000, 17496})
    for (const std::int64_t n : {1, 84, 512, 4096}) {
      const Product p{.m = 256, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n};
      const TilePlan tiles = plan_tiles(p, 132);
      EXPECT_GE(tiles.splits * tiles.k_per_split, k);
      EXPECT_LT((tiles.splits - 1) * tiles.k_per_split, k) << "an empty piece";
      EXPECT_EQ(tiles.workspace,
                tiles.splits == 1 ? 0u : std::size_t(tiles.splits) * 256 * std::size_t(n) * 4);
      const SkinnyPlan skinny = plan_skinny(p, 132);
      EXPECT_GE(skinny.splits * skinny.k_per_split, k);
      EXPECT_LT((skinny.splits - 1) * skinny.k_per_split, k);
      EXPECT_EQ(skinny.k_per_split % 8, 0);
    }
}

TEST(Products, SumsOfFp64AreCutOnlyWhereTilesAreFew) {
  for (const std::int64_t k : {1, 31, 784, 3000, 17496})
    for (const std::int64_t n : {1, 84, 784, 4096}) {
      const Product p{.dtype = DType::f64, .m = 512, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n};
      const TilePlan plan = plan_fp64_tiles(p, 132);
      EXPECT_EQ(plan.k_per_split % 16, 0);
      EXPECT_GE(plan.splits * plan.k_per_split, k);
      EXPECT_LT((plan.splits - 1) * plan.k_per_split, k) << "an empty piece";
      EXPECT_EQ(plan.workspace, plan.splits == 1 ? 0u : std::size_t(plan.splits) * 512 * std::size_t(n) * 8);
      EXPECT_LE(plan.workspace, std::size_t{64} << 20);
    }
  const Product square{.dtype = DType::f64, .m = 4096, .n = 4096, .k = 4096};
  EXPECT_EQ(plan_fp64_tiles(square, 132).splits, 1);
  const Product few{.dtype = DType::f64, .m = 512, .n = 784, .k = 3000};
  EXPECT_EQ(plan_fp64_tiles(few, 132).splits, 4);
  EXPECT_FALSE(product_fp64_tiles().accepts(Product{.m = 512, .n = 784, .k = 3000}, kHopper).ok);
}

// Cut as cuda:tiles cuts them, on another unit; tf32 needs no parts, and other types have none.
TEST(Products, PartsOfBf16AreForExactFp32) {
  const ProductKernel parts = product_bf16x6();
  Product p{.m = 3000, .n = 512, .k = 784, .lda = 784, .ldb = 512, .ldc = 512};
  EXPECT_TRUE(parts.accepts(p, kHopper).ok);
  EXPECT_EQ(parts.workspace(p, kHopper), product_tiles().workspace(p, kHopper));
  Work least;
  least.launches = {{.flops = 2.0 * 3000 * 512 * 784}};
  const Work work = parts.work(p, kHopper, least);
  EXPECT_EQ(work.launches[0].family, "gpu.tiles.bf16x6");
  EXPECT_EQ(work.launches[0].unit, Unit::bf16);
  EXPECT_EQ(work.launches[0].blocks, product_tiles().work(p, kHopper, least).launches[0].blocks);
  p.tf32 = true;
  EXPECT_EQ(parts.accepts(p, kHopper).reason, "tf32 is allowed: one product is enough");
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16}) {
    const Product other{.dtype = dtype, .m = 64, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64};
    EXPECT_EQ(parts.accepts(other, kHopper).reason, "splits only fp32");
  }
  Target older = kHopper;
  older.device.compute_capability = 75;
  p.tf32 = false;
  EXPECT_FALSE(parts.accepts(p, older).ok);
}

TEST(Products, SlicesCoverKOnce) {
  for (const std::int64_t k : {1, 15, 16, 17, 33, 400, 784, 1000, 4096}) {
    const SlicePlan plan = plan_slices({.m = 70, .n = 33, .k = k});
    EXPECT_EQ(plan.blocks, 3 * 2);
    EXPECT_EQ(plan.k_per_warp % 16, 0);
    EXPECT_GE(plan.warps * plan.k_per_warp, k);
    EXPECT_LT((plan.warps - 1) * plan.k_per_warp, k) << "no warp without work";
    EXPECT_LE(plan.warps, kMaxSliceWarps);
  }
  Product p{.m = 256, .n = 120, .k = 400, .lda = 400, .ldb = 120, .ldc = 120};
  EXPECT_TRUE(product_slices().accepts(p, kHopper).ok);
  p.m = 4096, p.n = 4096;
  EXPECT_NE(product_slices().accepts(p, kHopper).reason.find("264 tiles"), std::string::npos);
  p.m = p.n = 64, p.k = 4097;
  EXPECT_FALSE(product_slices().accepts(p, kHopper).ok);
}

TEST(Products, ClustersCoverKOnceAndFillTheDevice) {
  for (const std::int64_t k : {1, 31, 32, 33, 120, 256, 784, 800, 3200, 100'000}) {
    const ClusterPlan plan = plan_clusters({.m = 100, .n = 784, .k = k}, 132);
    EXPECT_EQ(plan.tiles, 2 * 13);
    EXPECT_EQ(plan.k_per_block % kClusterDepth, 0);
    EXPECT_GE(plan.blocks * plan.k_per_block, k);
    EXPECT_LT((plan.blocks - 1) * plan.k_per_block, k) << "no block without work";
    EXPECT_LE(plan.blocks, kMaxCluster);
    EXPECT_LE(plan.stages, kMaxClusterStages);
    EXPECT_LE(plan.stages * kClusterDepth, plan.k_per_block);
  }
  EXPECT_EQ(plan_clusters({.m = 100, .n = 784, .k = 800}, 132).blocks, 4) << "24 clusters of 5 fit, not 26";
  EXPECT_EQ(plan_clusters({.m = 1000, .n = 784, .k = 128}, 132).blocks, 1) << "there are enough tiles";
  Product p{.trans_a = true, .m = 84, .n = 120, .k = 256, .lda = 84, .ldb = 120, .ldc = 120};
  EXPECT_TRUE(product_clusters().accepts(p, kHopper).ok);
  EXPECT_TRUE(product_clusters().pays(p, kHopper).ok);
  p.m = 4096, p.n = 4096, p.k = 4096;
  EXPECT_FALSE(product_clusters().pays(p, kHopper).ok) << "tiles of 128 x 128 read less";
  p.m = p.n = 64, p.k = 1'000'000;
  EXPECT_FALSE(product_clusters().pays(p, kHopper).ok) << "a cluster has eight blocks, splits of k are more";
}

TEST(Products, ThinOnesFillTheDeviceInOneLaunch) {
  for (const std::int64_t k : {1, 5, 64, 1000, 17496})
    for (const std::int64_t m : {1, 20, 800, 3000, 100000})
      for (const std::int64_t n : {1, 10, 16}) {
        const Product p{.trans_b = true, .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n};
        const ThinPlan plan = plan_thin(p, 132);
        const int warps = kThinBlockWarps;
        EXPECT_GE((plan.warps_share_k ? warps : plan.splits) * plan.k_per_split, k);
        EXPECT_EQ(plan.k_per_split % 4, 0) << "pieces begin at multiples of 16 bytes";
        EXPECT_LE(plan.splits, 8) << "clusters may have no more blocks";
        EXPECT_EQ(plan.blocks % plan.splits, 0);
        EXPECT_GE(plan.blocks / plan.splits * (plan.warps_share_k ? 1 : warps) * plan.rows, std::max(m, n));
        EXPECT_EQ(plan.wide_output, m < n);
      }
  const Product p{.m = 800, .n = 10, .k = 1000, .lda = 1000, .ldb = 10, .ldc = 10};
  EXPECT_GE(plan_thin(p, 132).blocks, 90);
  EXPECT_TRUE(plan_thin(p, 132).warps_share_k) << "one launch, one round of loads";
  EXPECT_FALSE(product_skinny().accepts(p, kHopper).ok) << "one along k, one across";
  EXPECT_TRUE(product_thin().accepts(p, kHopper).ok);
  EXPECT_EQ(product_thin().workspace, nullptr);
  Product other = p;
  other.trans_a = true;
  EXPECT_FALSE(product_thin().accepts(other, kHopper).ok);
  other = p, other.n = 17;
  EXPECT_FALSE(product_thin().accepts(other, kHopper).ok);
  Target ampere = kHopper;
  ampere.device.compute_capability = 80;
  EXPECT_FALSE(product_thin().accepts(p, ampere).ok);
}

TEST(Products, LargeOnesTakeLargeTilesAndAreNotSplit) {
  const Product p{.m = 4096, .n = 4096, .k = 4096, .lda = 4096, .ldb = 4096, .ldc = 4096};
  EXPECT_EQ(plan_tiles(p, 132).tile, 128);
  EXPECT_EQ(plan_tiles(p, 132).splits, 1);
  const Product small{.m = 256, .n = 120, .k = 400, .lda = 400, .ldb = 120, .ldc = 120};
  EXPECT_EQ(plan_tiles(small, 132).tile, 64);
}

TEST(Products, Fp16PiecesCoverTheSumAndLieApart) {
  for (const std::int64_t k : {1, 31, 384, 784, 3000, 4096, 17496})
    for (const std::int64_t n : {1, 84, 512, 16384})
      for (const std::int64_t m : {3, 256, 16384}) {
        const Product p{.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n};
        const Fp16x3Plan plan = plan_fp16x3(p);
        for (const auto& [padded, side] : {std::pair{plan.m, m}, {plan.n, n}, {plan.piece, 0}}) {
          EXPECT_EQ(padded % 8, 0);
          EXPECT_GE(padded, side);
        }
        EXPECT_LE(plan.m, m + 7);
        EXPECT_EQ(plan.k, plan.pieces * plan.piece);
        EXPECT_GE(plan.k, k);
        EXPECT_LT(plan.k - plan.piece, k) << "an empty piece";
        EXPECT_LE(plan.piece, std::max(64.0, 4 * std::sqrt(double(k)) + 64))
            << "sums too long for the accuracy";
        EXPECT_GE(plan.bands * plan.band, plan.m);
        EXPECT_LT((plan.bands - 1) * plan.band, m) << "an empty band";
        EXPECT_GE(plan.b - plan.a, std::size_t(4 * plan.m * plan.k));
        EXPECT_GE(plan.slabs - plan.b, std::size_t(4 * plan.n * plan.k));
        EXPECT_GE(plan.library - plan.slabs, std::size_t(4 * (plan.pieces + 1) * plan.band * plan.n));
        EXPECT_GE(plan.workspace - plan.library, std::size_t(plan.library_bytes));
        for (const std::size_t offset : {plan.a, plan.b, plan.slabs, plan.library})
          EXPECT_EQ(offset % 256, 0u);
      }
}

TEST(Products, Fp16PartsAreForLargeProductsInExactFp32) {
  const auto accepts = [](const Product& p, bool library = true) {
    Target target = kHopper;
    target.device.cublaslt = library;
    const Verdict verdict = product_fp16x3().accepts(p, target);
    EXPECT_EQ(verdict.ok, verdict.reason.empty());
    return verdict.ok;
  };
  const Product large{.m = 640, .n = 640, .k = 512, .lda = 512, .ldb = 640, .ldc = 640};
  EXPECT_TRUE(accepts(large));
  EXPECT_FALSE(accepts(large, false));
  Product p = large;
  p.tf32 = true;
  EXPECT_FALSE(accepts(p));
  p = large, p.dtype = DType::f16;
  EXPECT_FALSE(accepts(p));
  p = large, p.runs[0].count = 2;
  EXPECT_FALSE(accepts(p));
  p = large, p.k = 200, p.m = 6400;
  EXPECT_FALSE(accepts(p)) << "slabs would outweigh the products";
  p = large, p.n = 64, p.m = 6400;
  EXPECT_FALSE(accepts(p)) << "splitting would";
  p = large, p.m = 320;
  EXPECT_FALSE(accepts(p));
  Target small = kHopper;
  small.device.memory_bytes = std::size_t{64} << 20;
  EXPECT_FALSE(product_fp16x3().accepts(large, small).ok);
}

// 1024 x 512 outputs, 256 terms: every tile asks for its rows and columns, each element of C comes once.
TEST(Products, TilesSayWhatTheyAskL2For) {
  struct Expected {
    const char* kernel;
    DType dtype;
    bool tf32;
    double bytes;  // of an element on its way to the tensor cores
  };
  for (const Expected& e : {Expected{"cuda:tiles", DType::f32, true, 4},
                            {"cuda:tiles", DType::bf16, false, 2},
                            {"cuda:fp64_tiles", DType::f64, false, 8},
                            {"cuda:wgmma", DType::f32, true, 4},
                            {"cuda:fp16x3_wgmma", DType::f32, false, 4},
                            {"cuda:fp16_wgmma", DType::f32, true, 2}}) {
    const Problem p{.op = "gemm",
                    .inputs = {{{1024, 256}, e.dtype}, {{256, 512}, e.dtype}},
                    .outputs = {{{1024, 512}, e.dtype}},
                    .attrs = {}};
    Target target = kHopper;
    target.policy.tf32 = e.tf32;
    for (const Kernel& kernel : operator_of("gemm").kernels) {
      if (kernel.name != e.kernel) continue;
      const KernelLaunch main = kernel.work(p, target).launches.at(0);
      const double across = 512.0 / double(main.tile.n), down = 1024.0 / double(main.tile.m);
      EXPECT_DOUBLE_EQ(main.l2_bytes - main.bytes, e.bytes * 256 * (1024 * (across - 1) + 512 * (down - 1)))
          << e.kernel;
    }
  }
}

// A row of 500 floats, in steps of 32: 15 of four sectors and one of 80 bytes. Every other row begins in the
// middle of a sector, and each of its pieces of 16 bytes asks for a sector of its own.
TEST(Products, RowsThatBeginWithinASectorTakeMoreOfThem) {
  using products::copied_bytes;
  EXPECT_DOUBLE_EQ(copied_bytes(512, 32, 4, 512), 4 * 512);
  EXPECT_DOUBLE_EQ(copied_bytes(500, 32, 4, 500), 32 * ((15 * 4 + 3) + (15 * 8 + 5)) / 2.0);
  EXPECT_DOUBLE_EQ(copied_bytes(500, 32, 4, 504), 32 * (15 * 4 + 3)) << "but not in rows of whole sectors";
  EXPECT_DOUBLE_EQ(copied_bytes(751, 32, 4, 751), 23 * (128 + 28) + 60 + 28) << "element by element";
}

TEST(Products, SumsOfPiecesThatBeginWithinASectorAreStoredInPairs) {
  const Product p{.m = 617, .n = 433, .k = 751, .lda = 751, .ldb = 433, .ldc = 433};
  const TilePlan plan = plan_tiles(p, 132);
  ASSERT_GT(plan.splits, 1);
  Work work{.launches = {KernelLaunch{}}};
  products::count_tile_sectors(work, p, plan, 32, true);
  ASSERT_EQ(work.launches.size(), 2u);
  const double sums = 617.0 * plan.splits, row = 216 * (8 + 28) + 32, read = 4 * 433;
  EXPECT_DOUBLE_EQ(work.launches[1].l2_bytes, sums * (row + read));
  EXPECT_DOUBLE_EQ(work.launches[1].bytes, 2 * double(plan.workspace));
}

}  // namespace product_test
}  // namespace headroom
