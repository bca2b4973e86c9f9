// What the Hopper kernels compute without a device: plans, the order of tiles, and the places of elements in
// shared memory, followed from global memory to what an instruction reads.
#include "ops/product/wgmma.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "ops/cuda/wgmma_layout.h"
#include "ops/operator.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace product_wgmma_test {

const Target kHopper(Capabilities{
    .kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132});

TEST(TileOrders, EveryTileOnce) {
  for (const unsigned m : {1u, 2u, 7u, 32u, 33u})
    for (const unsigned n : {1u, 3u, 16u, 31u})
      for (const unsigned group : {1u, 2u, 5u, 16u, 33u}) {
        if (group > m) continue;
        const TileOrder order{m, n, group};
        std::set<std::pair<unsigned, unsigned>> seen;
        for (unsigned i = 0; i < order.tiles(); ++i) {
          const TilePlace place = place_of(order, i);
          EXPECT_LT(place.m, m);
          EXPECT_LT(place.n, n);
          EXPECT_TRUE(seen.insert({place.m, place.n}).second) << m << " " << n << " " << group << ": " << i;
        }
      }
}

// What the 132 tiles of one turn read of A and B, in elements of each k: a square reads the least.
TEST(TileOrders, TilesOfATurnShareTheirOperands) {
  const TileOrder order = order_tiles(4096, 4096, 128, 256, 132);
  std::set<unsigned> rows, columns;
  for (unsigned i = 0; i < 132; ++i) rows.insert(place_of(order, i).m), columns.insert(place_of(order, i).n);
  EXPECT_LE(128 * rows.size() + 256 * columns.size(), 4400u);
  EXPECT_EQ(order_tiles(100, 4096, 128, 256, 132).group, 1u);
}

// The bits that PTX documents: address, leading offset and stride in units of 16 bytes, swizzle of 128 bytes.
TEST(MatrixDescriptors, BitsAreWhereTheInstructionLooks) {
  EXPECT_EQ(cuda::matrix_descriptor(0x400, false), 0x4000004000010040u);
  EXPECT_EQ(cuda::matrix_descriptor(0x400, true), 0x4000004002000040u);
  EXPECT_EQ(cuda::matrix_descriptor(0x38C00, false) & 0x3FFF, 0x38C0u);
  EXPECT_EQ(cuda::matrix_descriptor(0x1040400, false) & 0xFFFF, 0x40u) << "18 bits of the address";
  EXPECT_EQ(cuda::descriptor_at(cuda::matrix_descriptor(0x400, false), false, 3) & 0x3FFF, 0x46u);
  EXPECT_EQ(cuda::descriptor_at(cuda::matrix_descriptor(0x400, true), true, 3) & 0x3FFF, 0x1C0u);
}

// Shared memory after the copy engine: which element (row, k) lies at an address. It swizzles by address.
class SharedTile {
 public:
  SharedTile(unsigned base, unsigned rows, unsigned bytes, bool across) : bytes_(bytes) {
    const unsigned per_line = cuda::kLineBytes / bytes, depth = per_line;
    if (across)
      for (unsigned first = 0; first < rows; first += cuda::kRowsOfBlock)
        put_box(base + first / cuda::kRowsOfBlock * cuda::kBlockBytes, depth, [&](unsigned line, unsigned e) {
          return std::pair{first + e, line};
        });
    else
      put_box(base, rows, [](unsigned line, unsigned e) { return std::pair{line, e}; });
  }
  std::pair<unsigned, unsigned> at(unsigned address) const {
    const auto found = elements_.find(address);
    return found == elements_.end() ? std::pair{~0u, ~0u} : found->second;
  }
  std::size_t size() const { return elements_.size(); }

 private:
  template <class ElementOf>
  void put_box(unsigned base, unsigned lines, ElementOf element_of) {
    for (unsigned line = 0; line < lines; ++line)
      for (unsigned e = 0; e < cuda::kLineBytes / bytes_; ++e)
        elements_[cuda::swizzled(base + line * cuda::kLineBytes + e * bytes_)] = element_of(line, e);
  }
  unsigned bytes_;
  std::map<unsigned, std::pair<unsigned, unsigned>> elements_;
};

// Where an instruction looks for element (row, k) of its operand: PTX's canonical layouts for a swizzle of
// 128 bytes.
unsigned address_of(std::uint64_t descriptor, unsigned bytes, bool across, unsigned row, unsigned k) {
  const auto field = [descriptor](int bit) { return unsigned(descriptor >> bit & 0x3FFF) << 4; };
  const unsigned start = field(0), leading = field(16), stride = field(32);
  return cuda::swizzled(across ? start + row / 64 * leading + row % 64 * bytes + k / 8 * stride + k % 8 * 128
                               : start + row / 8 * stride + row % 8 * 128 + k * bytes);
}

TEST(MatrixDescriptors, EveryInstructionFindsItsElements) {
  struct Form {
    unsigned bytes;
    bool across;
  };
  for (const auto [bytes, across] : {Form{2, false}, Form{2, true}, Form{4, false}})
    for (const unsigned rows : {128u, 256u}) {
      const unsigned base = 5 * 1024, k_of_instruction = 32 / bytes;
      const SharedTile tile(base, rows, bytes, across);
      ASSERT_EQ(tile.size(), rows * cuda::kLineBytes / bytes);
      for (unsigned half = 0; half < rows / 64; ++half)  // what a warpgroup takes of A begins at a block
        for (unsigned step = 0; step < cuda::kStepsOfK; ++step) {
          const auto descriptor = cuda::descriptor_at(
              cuda::matrix_descriptor(base + half * cuda::kBlockBytes, across), across, step);
          for (unsigned row = 0; row < rows - 64 * half; ++row)
            for (unsigned k = 0; k < k_of_instruction; ++k)
              ASSERT_EQ(tile.at(address_of(descriptor, bytes, across, row, k)),
                        std::pair(64 * half + row, step * k_of_instruction + k))
                  << bytes << (across ? " across " : " along ") << half << " " << step;
        }
    }
}

// Sums on their way to C: every place once, and no two of the threads served at once in one bank.
TEST(WgmmaScratch, NoTwoInOneBank) {
  std::set<int> places;
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 64; ++column) places.insert(cuda::scratch_at(row, column));
  EXPECT_EQ(places.size(), 1024u);
  EXPECT_EQ(*places.rbegin(), 1023);
  for (int j = 0; j < 8; ++j)
    for (int first = 0; first < 32; first += 16) {  // 8 bytes of 16 lanes
      std::set<int> banks;
      for (int lane = first; lane < first + 16; ++lane)
        for (int e = 0; e < 2; ++e) banks.insert(cuda::scratch_at(lane / 4, 8 * j + 2 * (lane % 4) + e) % 32);
      EXPECT_EQ(banks.size(), 32u);
    }
  for (int row = 0; row < 16; ++row)
    for (int first = 0; first < 64; first += 32) {  // 16 bytes of 8 lanes
      std::set<int> banks;
      for (int column = first; column < first + 32; ++column)
        banks.insert(cuda::scratch_at(row, column) % 32);
      EXPECT_EQ(banks.size(), 32u);
    }
}

TEST(WgmmaPlans, WideTilesWhereThereAreEnough) {
  Product p{.dtype = DType::bf16, .m = 4096, .n = 4096, .k = 4096, .lda = 4096, .ldb = 4096, .ldc = 4096};
  WgmmaPlan plan = plan_wgmma(p, 132);
  EXPECT_EQ(plan.tile_n, 256);
  EXPECT_EQ(plan.order.tiles(), 512u);
  EXPECT_EQ(plan.blocks, 132);
  EXPECT_EQ(plan.workspace, 0u);
  p.m = 512, p.n = 784;
  plan = plan_wgmma(p, 132);
  EXPECT_EQ(plan.tile_n, 128);
  EXPECT_EQ(plan.blocks, 28);
}

TEST(WgmmaPlans, Tf32IsTransposedToLieAlongK) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      Product p{.tf32 = true, .trans_a = ta, .trans_b = tb, .m = 100, .n = 60, .k = 33};
      const WgmmaPlan plan = plan_wgmma(p, 132);
      EXPECT_EQ(plan.copy_a, ta);
      EXPECT_EQ(plan.copy_b, !tb);
      EXPECT_EQ(plan.depth, 32);
      EXPECT_EQ(plan.copy_ld, 36);
      const std::size_t a = ta ? 4 * 100 * 36 : 0, b = !tb ? 4 * 60 * 36 : 0;
      EXPECT_GE(plan.b, a);
      EXPECT_EQ(plan.b % 256, 0u);
      EXPECT_EQ(plan.workspace, plan.b + b);
    }
}

// A run with one matrix of A for all: only the matrices of B are copied, each of them.
TEST(WgmmaPlans, CopiesOfABatch) {
  Product p{.tf32 = true, .trans_a = true, .m = 64, .n = 32, .k = 16};
  p.runs = {ProductRun{.count = 5, .stride_a = 0, .stride_b = 512, .stride_c = 2048}};
  const WgmmaPlan plan = plan_wgmma(p, 132);
  EXPECT_EQ(plan.b, 4u * 64 * 16);
  EXPECT_EQ(plan.workspace, plan.b + 4u * 5 * 32 * 16);
  EXPECT_EQ(plan.blocks, 5);
}

TEST(WgmmaPlans, PartsOfFp16HaveRoom) {
  for (const std::int64_t k : {1, 63, 64, 65, 4096, 17496})
    for (const std::int64_t m : {1, 129, 4100})
      for (const bool across : {false, true}) {
        const Product product{.trans_a = across, .trans_b = !across, .m = m, .n = 77, .k = k};
        const Fp16x3WgmmaPlan plan = plan_fp16x3_wgmma(product, 2, 132);
        EXPECT_EQ(plan.ld_a % 8 + plan.ld_b % 8, 0);
        EXPECT_GE(plan.ld_a, across ? m : k);
        EXPECT_GE(plan.ld_b, across ? 77 : k);
        EXPECT_GE(plan.found, 32u);
        EXPECT_GE(plan.a - plan.found, std::size_t(16 * plan.parts_blocks));
        EXPECT_GE(plan.b - plan.a, std::size_t(4 * plan.ld_a * (across ? k : m)));
        EXPECT_GE(plan.workspace - plan.b, std::size_t(4 * plan.ld_b * (across ? k : 77)));
        EXPECT_EQ(plan.a % 256 + plan.b % 256, 0u);
      }
}

TEST(WgmmaPlans, FewTilesShareTheirStepsAmongBlocks) {
  for (const std::int64_t m : {1, 100, 512, 3000, 10000})
    for (const std::int64_t n : {10, 160, 784, 4096})
      for (const std::int64_t k : {1, 64, 200, 784, 3000, 17496}) {
        const PartsProductPlan plan = plan_parts_product(m, n, k, 132);
        EXPECT_EQ(plan.steps, (k + 63) / 64);
        EXPECT_LE(plan.splits, plan.steps);
        EXPECT_EQ(128 % plan.splits, 0);
        EXPECT_EQ(plan.blocks % plan.splits, 0);
        if (plan.splits > 1) {
          EXPECT_EQ(plan.blocks, std::int64_t{plan.order.tiles()} * plan.splits);
        } else {
          EXPECT_LE(plan.blocks, 132);
        }
      }
  EXPECT_EQ(plan_parts_product(3000, 512, 784, 132).splits, 1);  // 96 tiles
  EXPECT_EQ(plan_parts_product(512, 784, 3000, 132).splits, 4);  // 28 tiles
  EXPECT_EQ(plan_parts_product(800, 100, 784, 132).splits, 8);   // 7 tiles
  EXPECT_EQ(plan_parts_product(4096, 4096, 4096, 132).splits, 1);
}

Verdict verdict(const ProductKernel& kernel, const Product& p, const Target& target = kHopper) {
  const Verdict answer = kernel.accepts(p, target);
  EXPECT_EQ(answer.ok, answer.reason.empty());
  return answer;
}

TEST(WgmmaKernels, RefuseWhatTheHardwareCannotDo) {
  const Product half{.dtype = DType::f16, .m = 64, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64};
  EXPECT_TRUE(verdict(product_wgmma(), half).ok);
  for (const int capability : {80, 89, 100, 120}) {
    Target other = kHopper;
    other.device.compute_capability = capability;
    EXPECT_NE(verdict(product_wgmma(), half, other).reason.find("9.0"), std::string::npos);
    Product single = half;
    single.dtype = DType::f32;
    EXPECT_NE(verdict(product_fp16x3_wgmma(), single, other).reason.find("9.0"), std::string::npos);
  }
  Product p = half;
  p.lda = 68;  // 136 bytes
  EXPECT_NE(verdict(product_wgmma(), p).reason.find("16 bytes"), std::string::npos);
  p = half, p.runs = {ProductRun{.count = 2, .stride_a = 4, .stride_b = 4096, .stride_c = 4096}};
  EXPECT_FALSE(verdict(product_wgmma(), p).ok);
  p = half, p.dtype = DType::f64;
  EXPECT_FALSE(verdict(product_wgmma(), p).ok);
  p = half, p.dtype = DType::f32;
  EXPECT_FALSE(verdict(product_wgmma(), p).ok) << "exact fp32";
  p.tf32 = true;
  EXPECT_TRUE(verdict(product_wgmma(), p).ok);
  EXPECT_FALSE(verdict(product_fp16x3_wgmma(), p).ok) << "one product is enough";
  p.lda = 66;  // 264 bytes; A is read where it is
  EXPECT_FALSE(verdict(product_wgmma(), p).ok);
  p.trans_a = true;  // and here in a copy
  EXPECT_TRUE(verdict(product_wgmma(), p).ok);
  p.k = 4096;
  EXPECT_TRUE(verdict(product_wgmma(), p).ok);
  p.k = 4097;
  EXPECT_NE(verdict(product_wgmma(), p).reason.find("terms"), std::string::npos);
  p = half, p.m = std::int64_t{1} << 31;
  EXPECT_FALSE(verdict(product_wgmma(), p).ok);
}

// Reachable by name; what the engine chooses by itself stays as it is until they are proven.
TEST(WgmmaKernels, StandAfterWhatTakesEverything) {
  std::vector<std::string_view> names;
  for (const Kernel& kernel : operator_of("matmul").kernels) names.push_back(kernel.name);
  const auto place = [&](std::string_view name) { return std::find(names.begin(), names.end(), name); };
  for (const char* name : {"cuda:wgmma", "cuda:bf16x6", "cuda:fp64_tiles"}) {
    EXPECT_NE(place(name), names.end());
    EXPECT_GT(place(name), place("cuda:tiles"));
  }
}

TEST(WgmmaKernels, WorkCountsTheCopies) {
  const Product along{.tf32 = true, .trans_b = true, .m = 256, .n = 256, .k = 256, .lda = 256, .ldb = 256};
  Product across = along;
  across.trans_b = false;
  Work least;
  least.launches.push_back({.flops = 2.0 * 256 * 256 * 256, .bytes = 3.0 * 4 * 256 * 256});
  const Work direct = product_wgmma().work(along, kHopper, least),
             copied = product_wgmma().work(across, kHopper, least);
  EXPECT_EQ(direct.launch_count(), 1);
  EXPECT_EQ(copied.launch_count(), 2);
  EXPECT_EQ(copied.bytes() - direct.bytes(), 2 * 4 * 256 * 256);
  EXPECT_EQ(product_fp16x3_wgmma().work(along, kHopper, least).launch_count(), 2);
}

}  // namespace product_wgmma_test
}  // namespace headroom
