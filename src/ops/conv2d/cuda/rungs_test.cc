#include "ops/conv2d/cuda/rungs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace conv2d_cuda_rungs_test {

using Ints = std::vector<std::int64_t>;

// The message of a request that is rejected; empty if it is not.
template <class Action>
std::string rejected(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.blame(), Blame::request);
    return error.what();
  }
  return "";
}

Target h200(Policy policy = {}) {
  return {Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132}, policy};
}

Problem layer(const Shape& x, const Shape& w, Attrs attrs = {}, DType dtype = DType::f32) {
  Problem p{.op = "conv2d", .inputs = {{x, dtype}, {w, dtype}}, .outputs = {}, .attrs = std::move(attrs)};
  p.outputs = infer_conv2d(p.inputs, p.attrs);
  return p;
}

std::string refusal(const Kernel& kernel, const Problem& p, const Target& target = h200()) {
  const Verdict verdict = accepts(kernel, p, target);
  return verdict.ok ? "" : verdict.reason;
}

const Problem conv1() { return layer({100, 1, 72, 72}, {12, 1, 7, 7}); }
const Problem conv2() { return layer({100, 12, 33, 33}, {24, 12, 7, 7}); }

// The first kernel that accepts, as plans choose.
std::string_view chosen_of(const Operator& op, const Problem& p, const Target& target) {
  for (const Kernel& kernel : op.kernels)
    if (kernel.device == target.device.kind && accepts(kernel, p, target).ok) return kernel.name;
  return "";
}

// They are for reading and measuring: the engine always has a kernel before them.
TEST(Rungs, AreNeverTheEnginesChoice) {
  constexpr std::string_view kEngine[] = {
      "cuda:as_linear", "cuda:pair_mma",  "cuda:pixel_runs",    "cuda:few_channels", "cudnn",
      "cuda:block_mma", "cuda:image_mma", "cuda:implicit_gemm", "cuda:direct"};
  std::size_t choices = 0;
  for (const char* name : {"conv2d", "conv2d_grad_input", "conv2d_grad_weight"}) {
    const Operator& op = operator_of(name);
    for (const Case& c : op.cases)
      for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        for (const bool tf32 : {false, true}) {
          const Problem p = problem_of(op, c, dtype);
          const std::string_view chosen = chosen_of(op, p, h200({.tf32 = tf32}));
          EXPECT_TRUE(std::ranges::find(kEngine, chosen) != std::end(kEngine)) << p.str() << " by " << chosen;
          ++choices;
        }
  }
  EXPECT_GT(choices, 500u);
}

TEST(Rungs, TakeBothLayersOfTheCourse) {
  for (const Kernel& kernel : operator_of("conv2d").kernels) {
    if (kernel.device != DeviceKind::cuda || kernel.vendor || kernel.name == "cuda:as_linear") continue;
    if (kernel.name == "cuda:winograd" || kernel.name == "cuda:half_storage" ||
        kernel.name == "cuda:few_channels")
      continue;
    if (kernel.name == "cuda:pixel_runs") continue;  // for smaller images
    EXPECT_EQ(refusal(kernel, conv1()), "") << kernel.name;
    if (kernel.name == "cuda:pair_mma") continue;  // for one channel
    EXPECT_EQ(refusal(kernel, conv2()), "") << kernel.name;
  }
  const Problem half = layer({100, 12, 33, 33}, {24, 12, 7, 7}, {}, DType::f16);
  EXPECT_EQ(refusal(conv2d_cuda_half_storage(), half), "");
}

TEST(Rungs, RefuseWithAReason) {
  const Problem wide = layer({4, 64, 28, 28}, {64, 64, 3, 3});  // 147 KB of filters
  EXPECT_EQ(refusal(conv2d_cuda_constant(), wide), "filters exceed the 64 KB of constant memory");
  EXPECT_EQ(refusal(conv2d_cuda_registers(), wide), "");
  EXPECT_EQ(refusal(conv2d_cuda_unrolled(), layer({4, 3, 28, 28}, {8, 3, 4, 4})),
            "compiled for windows of 1, 3, 5, 7, 9 and 11 alone");
  EXPECT_EQ(refusal(conv2d_cuda_winograd(), conv1()), "takes windows of 3 x 3");
  EXPECT_EQ(refusal(conv2d_cuda_winograd(), layer({4, 3, 28, 28}, {8, 3, 3, 3}, {{"strides", Ints{2, 2}}})),
            "needs stride 1");
  EXPECT_EQ(refusal(conv2d_cuda_fft(), layer({4, 3, 28, 28}, {8, 3, 3, 3}, {{"strides", Ints{1, 2}}})),
            "needs stride 1");
  EXPECT_EQ(refusal(conv2d_cuda_fft(), layer({4, 4, 28, 28}, {8, 2, 3, 3}, {{"groups", std::int64_t{2}}})),
            "grouped");
  EXPECT_EQ(refusal(conv2d_cuda_fft(), layer({1, 2, 200, 300}, {2, 2, 128, 65})), "");
  EXPECT_EQ(refusal(conv2d_cuda_fft(), layer({1, 2, 200, 300}, {2, 2, 129, 1})),
            "a window that spans more than 128 pixels: larger transforms do not fit into shared memory");
  EXPECT_EQ(refusal(conv2d_cuda_fft(), layer({1, 2, 200, 300}, {2, 2, 1, 33}, {{"dilations", Ints{1, 5}}})),
            "a window that spans more than 128 pixels: larger transforms do not fit into shared memory");
  Target small = h200();
  small.device.memory_bytes = std::size_t{4} << 30;
  EXPECT_EQ(refusal(conv2d_cuda_fft(), layer({1, 2048, 9, 9}, {2048, 2048, 3, 3}), small),
            "its transformed filters and tiles take more than an eighth of the device's memory");
  EXPECT_EQ(refusal(conv2d_cuda_naive(), layer({4, 3, 28, 28}, {8, 3, 3, 3}, {}, DType::f64)),
            "a rung of the ladder: takes fp32, not fp64");
  EXPECT_EQ(refusal(conv2d_cuda_channel_atomics(), conv2()), "");
  EXPECT_EQ(refusal(conv2d_cuda_channel_atomics(), conv2(), h200({.deterministic = true})),
            "atomic additions come in any order");
  EXPECT_EQ(refusal(conv2d_cuda_channel_atomics(),
                    layer({4, 3, 9, 9}, {8, 3, 3, 3}, {{"activation", std::string("relu")}})),
            "no activation: nobody knows which addition is the last");
  EXPECT_EQ(refusal(conv2d_cuda_naive(), layer({1, 70000, 3, 3}, {4, 70000, 1, 1})),
            "more than 65,535 maps or channels: a grid has no more");
}

// Variants are texts of a plan or of a user: what cannot run is said before it is launched.
TEST(Rungs, ReadBlockSizesAndSayWhatTheyCannotBe) {
  const cuda::Sweep s = sweep_of(conv2());
  EXPECT_EQ(parse_rung_shape("k", "", s, {1}).block, 16);
  const RungShape shape = parse_rung_shape("k", "block=28,coarsen=4", s, {1, 2, 4});
  EXPECT_EQ(shape.block, 28);
  EXPECT_EQ(shape.coarsen, 4);
  const auto message = [&](const std::string& variant, std::initializer_list<int> coarsens = {1, 2}) {
    return rejected([&] { parse_rung_shape("cuda:naive", variant, s, coarsens); });
  };
  EXPECT_EQ(message("block=33"),
            "kernel 'cuda:naive' refuses blocks of 33 x 33 threads: a block has at most 1,024");
  EXPECT_EQ(message("block=0"),
            "kernel 'cuda:naive' refuses blocks of 0 x 0 threads: a block has at most 1,024");
  EXPECT_EQ(message("coarsen=3"),
            "kernel 'cuda:naive' refuses 3 maps a thread: it is compiled for other numbers");
  EXPECT_EQ(message("block=wide"), "kernel 'cuda:naive' does not understand 'block=wide'");
  EXPECT_EQ(message("warp=2"), "kernel 'cuda:naive' has no setting 'warp=2'");
  const cuda::Sweep large = sweep_of(layer({1, 1, 3000, 3000}, {1, 1, 1, 1}));
  EXPECT_NE(rejected([&] { parse_rung_shape("k", "block=8", large, {1}); }).find("65,535"),
            std::string::npos);
}

TEST(Rungs, OfferOnlyTilesThatFitSharedMemory) {
  const Kernel kernel = conv2d_cuda_shared_tiles();
  EXPECT_EQ(kernel.candidates(conv2(), h200()),
            (std::vector<std::string>{"block=16", "block=8", "block=32"}));
  const Problem strided =
      layer({2, 3, 64, 64}, {8, 3, 11, 11}, {{"strides", Ints{4, 4}}});  // 134 x 134 a tile
  EXPECT_EQ(kernel.candidates(strided, h200()), (std::vector<std::string>{"block=16", "block=8"}));
}

// What a rung says of its work follows from the idea.
TEST(Rungs, TellWhatTheirIdeaMoves) {
  const auto work = [](const Kernel& kernel, const Problem& p) { return kernel.work(p, h200()); };
  const Work naive = work(conv2d_cuda_naive(), conv2()), registers = work(conv2d_cuda_registers(), conv2());
  const double products = 100.0 * 24 * 729 * 588;
  // Rows of 27 sums are written as 16 and 11 of them, which begin anywhere in a sector.
  EXPECT_DOUBLE_EQ(naive.launches[0].l2_bytes - registers.launches[0].l2_bytes,
                   (64 + 28 + 44 + 28) / 27.0 * products);
  EXPECT_EQ(naive.launches[0].blocks, 100 * 24 * 4) << "27 x 27 outputs are four tiles of 16 x 16";
  EXPECT_DOUBLE_EQ(registers.launches[0].l2_bytes, 100.0 * 24 * 4 * 12 * 22 * 22 * 4);
  const Work unroll = work(conv2d_cuda_unroll_matmul(), conv2()),
             fused = work(conv2d_cuda_fused_matmul(), conv2());
  EXPECT_DOUBLE_EQ(unroll.bytes() - fused.bytes(), 2.0 * 100 * 588 * 729 * 4)
      << "the matrix, written and read";
  EXPECT_LT(work(conv2d_cuda_register_matmul(), conv2()).launches[0].l2_bytes,
            fused.launches[0].l2_bytes / 2);
  const Problem three = layer({32, 64, 28, 28}, {96, 64, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}});
  EXPECT_NEAR(work(conv2d_cuda_naive(), three).flops() / work(conv2d_cuda_winograd(), three).flops(), 2.25,
              0.1);
}

// The tile of conv2 is 16 x 16: nine of them a plane, 100 outputs each. A transform serves two channels or
// maps.
TEST(Rungs, TransformsTakeFewerProductsTheWiderTheWindow) {
  const Work fft = conv2d_cuda_fft().work(conv2(), h200());
  const double tiles = 100 * 9, frequencies = 16 * 9, transform = 10 * 256 * 4;
  EXPECT_DOUBLE_EQ(fft.launches[0].flops,
                   8 * frequencies * 12 * 24 * tiles + transform * (tiles * (6 + 12) + 24 * 6));
  const double spectra = 8 * frequencies * tiles * (12 + 24), filters = 8 * frequencies * 12 * 24;
  EXPECT_DOUBLE_EQ(fft.bytes() - least_work(conv2(), h200()).bytes(), 2 * spectra + 2 * filters);
  EXPECT_LE(conv2d_cuda_fft().workspace(layer({10000, 12, 33, 33}, {24, 12, 7, 7}), h200()),
            (256u << 20) + static_cast<std::size_t>(filters));
  const auto gain = [](std::int64_t window) {
    const Problem p = layer({64, 32, 64, 64}, {32, 32, window, window});
    return least_work(p, h200()).flops() / conv2d_cuda_fft().work(p, h200()).flops();
  };
  EXPECT_GT(gain(5), gain(3));
  EXPECT_GT(gain(9), gain(5));
  EXPECT_GT(gain(15), gain(9));
}

// The unrolled matrix of 10,000 images is 17 GB; the chunks that are alive stay below 256 MB.
TEST(Rungs, UnrollInChunks) {
  const Problem p = layer({10000, 12, 33, 33}, {24, 12, 7, 7});
  for (const Kernel& kernel :
       {conv2d_cuda_unroll_matmul(), conv2d_cuda_unroll_streams(), conv2d_cuda_winograd()})
    if (accepts(kernel, p, h200()).ok) {
      EXPECT_LE(kernel.workspace(p, h200()), 256u << 20) << kernel.name;
    }
  EXPECT_EQ(conv2d_cuda_unroll_matmul().work(p, h200()).launches[1].count, 65);
}

}  // namespace conv2d_cuda_rungs_test
}  // namespace headroom::testing
