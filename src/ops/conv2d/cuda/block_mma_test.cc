// cuda:block_mma without a GPU: its plans, and whole launches with tensor cores in software, against the
// reference in fp64. The kernel itself runs on these cases, and more, where there is a GPU
// (ops/operators_test.cc).
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "ops/conv2d/testing/block_emulator.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace conv2d_cuda_block_mma_test {

using cuda::BlockPlan;
using cuda::BlockShape;
using Ints = std::vector<std::int64_t>;

Target h200(bool tf32 = false) {
  Capabilities gpu{.kind = DeviceKind::cuda, .name = "H200"};
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  return {gpu, Policy{.tf32 = tf32}};
}

struct BlockCase {
  const char* what;
  Shape x, w;
  Attrs attrs = {};  // with "pool": a conv2d_block
  bool bias = true;
};

Attrs pooled(const char* kind, Ints kernel, Attrs more = {}) {
  more.set("pool", std::string(kind));
  more.set("pool_kernel", std::move(kernel));
  return more;
}
Attrs with(Attrs attrs, const Attrs& more) {
  for (const auto& [name, value] : more) attrs.set(name, value);
  return attrs;
}

std::vector<BlockCase> block_cases() {
  const Attrs tanh = {{"activation", std::string("tanh")}}, relu = {{"activation", std::string("relu")}};
  const Attrs padded = {{"pads", Ints{1, 1, 1, 1}}}, strided = {{"strides", Ints{2, 2}}};
  return {
      {"ece408 conv1", {2, 1, 72, 72}, {12, 1, 7, 7}, pooled("max", {2, 2}, tanh)},
      {"ece408 conv2", {2, 12, 33, 33}, {24, 12, 7, 7}, {}, false},
      {"lenet5 C1", {3, 1, 32, 32}, {6, 1, 5, 5}, pooled("max", {2, 2}, relu)},
      {"lenet5 C3", {3, 6, 14, 14}, {16, 6, 5, 5}, pooled("max", {2, 2}, relu)},
      {"lenet5 C3, means", {2, 6, 14, 14}, {16, 6, 5, 5}, pooled("avg", {2, 2}, tanh)},
      {"a window over the whole input", {5, 16, 5, 5}, {40, 16, 5, 5}, relu},
      {"odd sizes", {2, 3, 13, 17}, {5, 3, 3, 5}, pooled("max", {2, 2})},
      {"3x3 padded", {2, 16, 9, 11}, {17, 16, 3, 3}, with(padded, relu)},
      {"3x3 padded, pooled", {1, 16, 12, 10}, {20, 16, 3, 3}, pooled("max", {2, 2}, with(padded, relu))},
      {"stride 2", {2, 4, 15, 14}, {9, 4, 3, 3}, with(padded, strided)},
      {"stride 2, pooled", {2, 3, 21, 20}, {8, 3, 5, 5}, pooled("max", {2, 2}, strided)},
      {"dilated", {1, 5, 14, 13}, {6, 5, 3, 3}, pooled("max", {2, 2}, {{"dilations", Ints{2, 3}}})},
      {"one channel, one map", {1, 1, 5, 4}, {1, 1, 1, 1}, {}, false},
      {"windows of 3 by steps of 2",
       {2, 7, 16, 15},
       {10, 7, 3, 3},
       pooled("max", {3, 3}, {{"pool_strides", Ints{2, 2}}})},
      {"windows that hang over",
       {1, 2, 12, 11},
       {3, 2, 3, 3},
       pooled("avg", {2, 3}, {{"pool_ceil_mode", std::int64_t{1}}, {"activation", std::string("sigmoid")}})},
      {"4x4 windows", {1, 4, 30, 30}, {16, 4, 7, 7}, pooled("max", {4, 4}, relu)},
      {"more maps than a block has", {1, 6, 8, 9}, {70, 6, 3, 3}, pooled("max", {2, 2}, padded)},
      {"bands of a large image", {1, 3, 150, 140}, {8, 3, 5, 5}, pooled("max", {2, 2}, relu)},
      {"bands, unpooled", {1, 2, 130, 170}, {20, 2, 3, 3}, {}},
      {"strides that leave a column out", {1, 8, 64, 64}, {8, 8, 1, 1}, strided},
      {"padded strides that leave a column out", {1, 8, 62, 62}, {8, 8, 2, 2}, with(padded, strided)},
      {"padded bands, pixel by pixel", {1, 12, 70, 61}, {24, 12, 5, 5}, {{"pads", Ints{2, 2, 2, 2}}}},
  };
}

struct BlockRun {
  Problem problem;
  BlockShape shape;
  BlockPlan plan;
  std::vector<Values> inputs;
  Emulation got;
  Values want;
};

std::vector<float> as_floats(const Values& values) { return {values.begin(), values.end()}; }

Case case_of(const BlockCase& b) {
  Case c{.inputs = {b.x, b.w}, .attrs = b.attrs};
  if (b.bias) c.inputs.push_back({b.w[0]});
  if (b.attrs.has("pool")) {
    c.attrs.set("bias", std::int64_t{b.bias});
    c.attrs.set("norm", std::int64_t{0});
    c.attrs.set("residual", std::int64_t{0});
  }
  return c;
}

const Operator& operator_for(const BlockCase& b) {
  return operator_of(b.attrs.has("pool") ? "conv2d_block" : "conv2d");
}

BlockPlan plan_of(const BlockCase& b) {
  const Problem problem = problem_of(operator_for(b), case_of(b), DType::f32);
  std::string why;
  return block_plan(block_shape(parse_conv2d(problem)), false, h200(true), why).value();
}

// `scale_x` and `scale_w` take the values far from 1.
BlockRun emulate(const BlockCase& b, Numbers numbers, bool tf32, double scale_x = 1, double scale_w = 1) {
  const Case c = case_of(b);
  const Operator& op = operator_for(b);
  BlockRun run{
      .problem = problem_of(op, c, DType::f32), .shape = {}, .plan = {}, .inputs = {}, .got = {}, .want = {}};
  run.inputs = inputs_of(run.problem, c, numbers, 29);
  for (double& v : run.inputs[0]) v = double(float(v * scale_x));
  for (double& v : run.inputs[1]) v = double(float(v * scale_w));
  run.shape = block_shape(parse_conv2d(run.problem));
  std::string why;
  const auto plan = block_plan(run.shape, !tf32, h200(tf32), why);
  EXPECT_TRUE(plan) << b.what << ": " << why;
  if (!plan) return run;
  run.plan = *plan;
  run.got = emulate_block(run.shape, run.plan, true, as_floats(run.inputs[0]), as_floats(run.inputs[1]),
                          b.bias ? as_floats(run.inputs[2]) : std::vector<float>{});
  run.want = run_kernel(reference_of(op), widened(run.problem), run.inputs).outputs[0];
  return run;
}

Values widened_y(const BlockRun& run) { return {run.got.y.begin(), run.got.y.end()}; }

double relative_error(const Values& got, const Values& want) {
  double wrong = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    wrong += (got[i] - want[i]) * (got[i] - want[i]), size += want[i] * want[i];
  return size == 0 ? std::sqrt(wrong) : std::sqrt(wrong / size);
}

// dx of a layer that has no stride, by the same launches: dy is the image.
TEST(BlockMma, TheGradientOfAnInputIsAConvolution) {
  struct GradientCase {
    Shape x, w;
    Attrs attrs = {};
  };
  const GradientCase cases[] = {{{3, 6, 14, 14}, {16, 6, 5, 5}},  // lenet5 C3
                                {{2, 12, 33, 33}, {24, 12, 7, 7}},
                                {{2, 16, 9, 11}, {17, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
                                {{1, 40, 8, 9}, {5, 40, 3, 5}, {{"pads", Ints{0, 2, 1, 1}}}},
                                {{1, 5, 14, 13}, {6, 5, 3, 3}, {{"dilations", Ints{2, 3}}}},
                                {{2, 7, 6, 5}, {9, 7, 1, 1}}};
  for (const GradientCase& g : cases)
    for (const bool tf32 : {false, true}) {
      const Operator& op = operator_of("conv2d_grad_input");
      Attrs attrs = g.attrs;
      attrs.set("input_shape", g.x.vector());
      const Shape y =
          operator_of("conv2d").schema.infer({{g.x, DType::f32}, {g.w, DType::f32}}, g.attrs)[0].shape;
      const Case c{.inputs = {y, g.w}, .attrs = attrs};
      const Problem problem = problem_of(op, c, DType::f32);
      SCOPED_TRACE(problem.str());
      const auto inputs = inputs_of(problem, c, Numbers::normal, 31);
      const BlockShape shape = block_gradient_shape(parse_conv2d(problem));
      std::string why;
      const auto plan = block_plan(shape, !tf32, h200(tf32), why);
      ASSERT_TRUE(plan) << why;
      const Emulation got = emulate_block(shape, *plan, true, as_floats(inputs[0]), as_floats(inputs[1]), {});
      EXPECT_EQ(got.faults, std::vector<std::string>{});
      const Values want = run_kernel(reference_of(op), widened(problem), inputs).outputs[0];
      ASSERT_EQ(got.y.size(), want.size());
      EXPECT_LT(relative_error({got.y.begin(), got.y.end()}, want), tf32 ? 1e-3 : 1e-6);
    }
}

TEST(BlockMma, GradientsThatItCannotTakeAreRefused) {
  const auto verdict = [](const Shape& x, const Shape& w, Attrs attrs) {
    const Shape y = operator_of("conv2d").schema.infer({{x, DType::f32}, {w, DType::f32}}, attrs)[0].shape;
    attrs.set("input_shape", x.vector());
    const Operator& op = operator_of("conv2d_grad_input");
    const Problem p = problem_of(op, {.inputs = {y, w}, .attrs = attrs}, DType::f32);
    for (const Kernel& kernel : op.kernels)
      if (kernel.name == "cuda:block_mma") return accepts(kernel, p, h200());
    return Verdict{};
  };
  EXPECT_TRUE(verdict({2, 3, 9, 9}, {4, 3, 3, 3}, {}).ok);
  EXPECT_NE(verdict({2, 3, 9, 9}, {4, 3, 3, 3}, {{"strides", Ints{2, 2}}}).reason.find("strides"),
            std::string::npos);
  EXPECT_NE(verdict({2, 3, 9, 9}, {4, 3, 1, 1}, {{"pads", Ints{1, 1, 1, 1}}}).reason.find("padding"),
            std::string::npos);
}

TEST(BlockMma, EveryOutputOnceAndNoPlaceOutside) {
  for (const BlockCase& b : block_cases())
    for (const bool tf32 : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{}", b.what, tf32 ? " in tf32" : ""));
      const BlockRun run = emulate(b, Numbers::normal, tf32);
      EXPECT_EQ(run.got.faults, std::vector<std::string>{});
      for (std::size_t i = 0; i < run.got.writes.size(); ++i) ASSERT_EQ(run.got.writes[i], 1) << i;
      const int all = shared_bytes(h200()) + 1024;
      const int together = ceil(double(run.plan.workers * run.plan.map_blocks) / 132);
      EXPECT_LE((run.plan.bytes + 1024) * std::max(1, together), all);
      EXPECT_LE(run.plan.threads * std::max(1, together),
                cuda::block_threads(run.plan.split, run.plan.columns8));
    }
}

TEST(BlockMma, CasesFillTheViewInBothWays) {
  int by_pixels = 0, by_words = 0, padded_bands = 0;
  for (const BlockCase& b : block_cases()) {
    const BlockPlan q = plan_of(b);
    (q.by_pixels ? by_pixels : by_words) += 1;
    if (q.by_pixels && q.bands > 1 && b.attrs.has("pads")) ++padded_bands;
  }
  EXPECT_GE(by_pixels, 2);
  EXPECT_GE(by_words, 2);
  EXPECT_GE(padded_bands, 1);
}

TEST(BlockMma, ThreadsWalkOverEveryWordOfTheView) {
  for (const BlockCase& b : block_cases())
    for (const int threads : {32, 160, 384, 4096}) {
      const BlockPlan q = plan_of(b);
      const int dense = q.view_h * q.pitch, words = q.planes * dense;
      for (int thread = 0; thread < threads; thread += 31) {
        cuda::PlaneWalk walk(q.view_h, q.pitch, thread, threads);
        for (int word = thread; word < words; word += threads, walk.next())
          ASSERT_EQ((walk.plane * q.view_h + walk.row) * q.pitch + walk.column, word)
              << b.what << " " << threads;
        EXPECT_GE(walk.plane, q.planes);
      }
    }
}

TEST(BlockMma, AgreesWithTheReference) {
  for (const BlockCase& b : block_cases())
    for (const bool tf32 : {false, true})
      for (const Numbers numbers : {Numbers::normal, Numbers::positive, Numbers::small_integers}) {
        SCOPED_TRACE(fmt::format("{}{}, numbers {}", b.what, tf32 ? " in tf32" : "", int(numbers)));
        const BlockRun run = emulate(b, numbers, tf32);
        const std::string f = b.attrs.text("activation");
        const bool exact =
            numbers == Numbers::small_integers && (f.empty() || f == "relu") && b.attrs.text("pool") != "avg";
        const Comparison c =
            compare(run.problem, 0, widened_y(run), run.want, exact, {.tf32 = tf32 && !exact});
        EXPECT_LE(c.worst_ratio, 1) << c.where;
      }
}

// The same sums, one product after the other in plain fp32; or exact sums of factors rounded to 11 bits.
double yardstick(const BlockCase& b, const BlockRun& run, bool tf32) {
  const BlockShape& s = run.shape;
  const auto rounded = [&](double v) {
    int exponent = 0;
    const double fraction = std::frexp(v, &exponent);
    return tf32 ? std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11) : v;
  };
  double wrong = 0, size = 0;
  for (int n = 0; n < s.batch; ++n)
    for (int m = 0; m < s.maps; ++m)
      for (int oh = 0; oh < s.conv_h; ++oh)
        for (int ow = 0; ow < s.conv_w; ++ow) {
          double exact = 0, other = 0;
          float sum = 0;
          for (int c = 0; c < s.channels; ++c)
            for (int kh = 0; kh < s.kernel_h; ++kh)
              for (int kw = 0; kw < s.kernel_w; ++kw) {
                const int h = oh * s.stride_h - s.pad_h + kh * s.dilation_h;
                const int v = ow * s.stride_w - s.pad_w + kw * s.dilation_w;
                if (h < 0 || h >= s.in_h || v < 0 || v >= s.in_w) continue;
                const double x = run.inputs[0][std::size_t(((n * s.channels + c) * s.in_h + h) * s.in_w + v)];
                const double w =
                    run.inputs[1][std::size_t(((m * s.channels + c) * s.kernel_h + kh) * s.kernel_w + kw)];
                exact += x * w, other += rounded(x) * rounded(w);
                sum = std::fma(float(x), float(w), sum);
              }
          const double error = (tf32 ? other : double(sum)) - exact;
          wrong += error * error, size += exact * exact;
        }
  EXPECT_FALSE(b.attrs.has("pool"));
  return std::sqrt(wrong / size);
}

TEST(BlockMma, AsAccurateAsItsPrecision) {
  const std::vector<BlockCase> cases = {
      {"ece408 conv1", {1, 1, 72, 72}, {12, 1, 7, 7}, {}, false},
      {"ece408 conv2", {1, 12, 33, 33}, {24, 12, 7, 7}, {}, false},
      {"long sums", {1, 64, 9, 9}, {8, 64, 5, 5}, {}, false},
  };
  for (const BlockCase& b : cases)
    for (const Numbers numbers : {Numbers::normal, Numbers::positive})
      for (const bool tf32 : {false, true}) {
        const BlockRun run = emulate(b, numbers, tf32);
        const double error = relative_error(widened_y(run), run.want), allowed = 2 * yardstick(b, run, tf32);
        EXPECT_LE(error, allowed) << b.what << (tf32 ? " in tf32" : "") << ", numbers " << int(numbers);
        RecordProperty(fmt::format("{}{}{}", b.what, tf32, int(numbers)),
                       fmt::format("{:.2g} {:.2g}", error, allowed));
      }
}

TEST(BlockMma, AnyRange) {
  struct Range {
    const char* what;
    double x, w;
  };
  const BlockCase b{"range", {2, 3, 11, 10}, {6, 3, 3, 3}, {}, false};
  for (const auto& [what, x, w] :
       {Range{"pixels", 255, 1e-3}, Range{"huge", 1e30, 1}, Range{"tiny", 1, 1e-30},
        Range{"huge and tiny", 1e30, 1e-30}, Range{"tiny twice", 1e-18, 1e-17},
        Range{"huge twice", 1e18, 1e17}, Range{"subnormal", 3e-39, 1e36}, Range{"nothing", 0, 1},
        Range{"nothing at all", 0, 0}}) {
    const BlockRun run = emulate(b, Numbers::normal, false, x, w);
    EXPECT_LE(relative_error(widened_y(run), run.want), x * w == 0 ? 0.0 : 6e-7) << what;
  }
}

// fp16 is multiplied as it is stored.
TEST(BlockMma, StoredAsFp16) {
  for (const BlockCase& b : block_cases()) {
    const Case c = case_of(b);
    const Problem problem = problem_of(operator_for(b), c, DType::f16);
    const auto inputs = inputs_of(problem, c, Numbers::normal, 31);
    const BlockShape shape = block_shape(parse_conv2d(problem));
    std::string why;
    const auto plan = block_plan(shape, false, h200(), why);
    ASSERT_TRUE(plan) << why;
    const Emulation got = emulate_block(shape, *plan, false, as_floats(inputs[0]), as_floats(inputs[1]),
                                        b.bias ? as_floats(inputs[2]) : std::vector<float>{});
    const Values want = run_kernel(reference_of(operator_for(b)), widened(problem), inputs).outputs[0];
    const Comparison comparison = compare(problem, 0, {got.y.begin(), got.y.end()}, want, false);
    EXPECT_LE(comparison.worst_ratio, 1) << b.what << ": " << comparison.where;
  }
}

// The lanes of a fragment read different banks, but for some across the end of a row.
TEST(BlockMma, BanksOfSharedMemory) {
  for (const BlockCase& b : block_cases())
    for (const bool tf32 : {false, true}) {
      const std::string what = b.what;
      if (!what.starts_with("ece408") && !what.starts_with("lenet5 C") && what != "3x3 padded") continue;
      const BlockRun run = emulate(b, Numbers::normal, tf32);
      EXPECT_LE(run.got.wavefronts / run.got.loads, 1.25) << what << (tf32 ? " in tf32" : "");
    }
}

TEST(BlockMma, Refusals) {
  const Operator& op = operator_of("conv2d_block");
  const Kernel* kernel = nullptr;
  for (const Kernel& k : op.kernels)
    if (k.name == "cuda:block_mma") kernel = &k;
  ASSERT_NE(kernel, nullptr);
  const auto reason = [&](const BlockCase& b, DType dtype = DType::f32) {
    return accepts(*kernel, problem_of(op, case_of(b), dtype), h200()).reason;
  };
  const Shape x{1, 4, 12, 12}, w{6, 4, 3, 3};
  EXPECT_EQ(reason({"", x, w, pooled("max", {2, 2})}), "");
  EXPECT_EQ(reason({"", x, w, pooled("max", {2, 2})}, DType::bf16), "");
  EXPECT_EQ(reason({"", x, w, pooled("max", {2, 2})}, DType::f64),
            "images are held in fp16, two parts of each element");
  EXPECT_EQ(reason({"", x, {6, 2, 3, 3}, pooled("max", {2, 2}, {{"groups", std::int64_t{2}}})}), "grouped");
  EXPECT_EQ(reason({"", x, w, pooled("max", {3, 3}, {{"pool_pads", Ints{1, 1, 1, 1}}})}),
            "takes no padding around what it pools");
  EXPECT_EQ(reason({"", x, w, pooled("max", {2, 2}, {{"pool_dilations", Ints{2, 2}}})}),
            "takes no dilated windows of pooling");
  EXPECT_EQ(reason({"", {1, 512, 14, 14}, {512, 512, 3, 3}, pooled("max", {2, 2})}),
            "a band of the image does not fit into shared memory beside the weights");
  EXPECT_EQ(reason({"", {1, 1, 20000, 8}, {1, 1, 3, 3}, pooled("max", {2, 2})}),
            "larger than its 32-bit indices");
}

}  // namespace conv2d_cuda_block_mma_test
}  // namespace headroom::testing
