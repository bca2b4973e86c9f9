#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/bad_input.h"
#include "ops/classifier_head/classifier_head.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace classifier_head_test {

Problem make(std::string_view op, std::vector<TensorType> inputs, const Attrs& attrs = {}) {
  Problem p{.op = std::string(op), .inputs = std::move(inputs), .outputs = {}, .attrs = attrs};
  p.outputs = schema_of(op).infer(p.inputs, p.attrs);
  return p;
}

Problem head(std::int64_t rows, std::int64_t inputs, std::int64_t classes, const Attrs& attrs = {},
             DType dtype = DType::f64) {
  return make("classifier_head",
              {{{rows, inputs}, dtype}, {{classes, inputs}, dtype}, {{classes}, dtype}, {{rows}, DType::i32}},
              attrs);
}

std::vector<Values> by_reference(const Problem& p, const std::vector<Values>& inputs) {
  return run_kernel(reference_of(operator_of(p.op)), p, inputs).outputs;
}

// What the operator stands for, one node after another.
std::vector<Values> by_parts(const Problem& whole, const std::vector<Values>& in) {
  const TensorType &h = whole.inputs[0], &w = whole.inputs[1], &bias = whole.inputs[2],
                   &labels = whole.inputs[3];
  const Problem linear = make("linear", {h, w, bias});
  const TensorType& scores = linear.outputs[0];
  const auto logits = by_reference(linear, {in[0], in[1], in[2]})[0];
  const auto loss =
      by_reference(make("cross_entropy", {scores, labels}, {{"correct", std::int64_t{1}}}), {logits, in[3]});
  const auto d = by_reference(make("cross_entropy_grad", {{{1}, DType::f64}, scores, labels}),
                              {{1.0}, loss[1], in[3]})[0];
  const std::string slope = whole.attrs.text("activation_grad");
  const auto dz = slope.empty() ? by_reference(make("matmul", {scores, w}), {d, in[1]})[0]
                                : by_reference(make("matmul", {scores, w, h}, {{"activation_grad", slope}}),
                                               {d, in[1], in[0]})[0];
  const auto dw = by_reference(make("matmul", {scores, h}, {{"trans_a", std::int64_t{1}}}), {d, in[0]})[0];
  return {loss[0],
          loss[2],
          dz,
          dw,
          by_reference(make("bias_grad", {scores}), {d})[0],
          by_reference(make("bias_grad", {h}), {dz})[0]};
}

TEST(ClassifierHead, IsWhatItsPartsCompute) {
  for (const char* slope : {"", "relu", "sigmoid", "tanh"})
    for (const auto& [rows, inputs, classes] :
         {std::array<std::int64_t, 3>{1, 1, 2}, {7, 13, 3}, {100, 31, 10}, {37, 200, 16}}) {
      Attrs attrs;
      if (*slope != '\0') attrs.set("activation_grad", std::string(slope));
      const Problem p = head(rows, inputs, classes, attrs);
      const Case c{.inputs = {}, .fills = {{}, {}, {}, {Fill::Kind::label, static_cast<double>(classes)}}};
      const auto in = inputs_of(p, c, Numbers::normal, 3);
      const auto got = by_reference(p, in), want = by_parts(p, in);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        ASSERT_EQ(got[o].size(), want[o].size());
        for (std::size_t i = 0; i < got[o].size(); ++i)
          EXPECT_NEAR(got[o][i], want[o][i], 1e-12 * (1 + std::abs(want[o][i])))
              << p.str() << " output " << o << " element " << i;
      }
    }
}

TEST(ClassifierHead, ALabelThatIsNoClassSpoilsTheLossAndItsRow) {
  const Values h = {1, 2, 3, 4}, w = {1, 0, 0, 1}, bias = {0, 0};
  for (const Kernel& kernel : kernels_here(operator_of("classifier_head"))) {
    const bool gpu = kernel.device == DeviceKind::cuda;
    const Problem p =
        head(2, 2, 2, {{"activation_grad", std::string("tanh")}}, gpu ? DType::f32 : DType::f64);
    const auto out = run_kernel(kernel, p, {h, w, bias, {2, 1}}).outputs;
    EXPECT_TRUE(std::isnan(out[0][0])) << kernel.name;
    EXPECT_EQ(out[1][0], 1) << kernel.name;
    EXPECT_TRUE(std::isnan(out[2][0]) && std::isnan(out[2][1])) << kernel.name;
    EXPECT_FALSE(std::isnan(out[2][2]) || std::isnan(out[2][3])) << kernel.name;
    for (std::size_t o : {3u, 4u, 5u})
      for (double value : out[o]) EXPECT_TRUE(std::isnan(value)) << kernel.name << " output " << o;
  }
}

TEST(ClassifierHead, ShapesMustFit) {
  const TensorType h{{4, 6}, DType::f32}, w{{3, 6}, DType::f32}, b{{3}, DType::f32}, l{{4}, DType::i32};
  auto infer = [](std::vector<TensorType> in, Attrs attrs = {}) { make("classifier_head", in, attrs); };
  EXPECT_NO_THROW(infer({h, w, b, l}));
  expect_rejected([&] { infer({h, {{3, 5}, DType::f32}, b, l}); }, {"classifier_head", "3x5"});
  expect_rejected([&] { infer({h, w, {{4}, DType::f32}, l}); }, {"classifier_head"});
  expect_rejected([&] { infer({h, w, b, {{5}, DType::i32}}); }, {"classifier_head"});
  expect_rejected([&] { infer({h, w, b}); }, {"classifier_head", "4"});
  expect_rejected([&] { infer({h, w, b, l}, {{"activation_grad", std::string("gelu")}}); }, {"'gelu'"});
}

TEST(ClassifierHead, TheRowsOfAGpuAreAllTakenOnce) {
  for (std::int64_t rows : {1, 7, 8, 9, 256, 3000, 60001})
    for (std::int64_t inputs : {1, 32, 33, 512, 513, 1024})
      for (int multiprocessors : {0, 1, 132}) {
        const HeadSplit s = head_split(rows, inputs, 10, multiprocessors);
        EXPECT_GE(s.blocks * s.rows_per_block, rows);
        EXPECT_LT((s.blocks - 1) * s.rows_per_block, rows);
        EXPECT_GE(s.stretches * s.columns, inputs);
        EXPECT_LE(s.columns * s.groups, HeadSplit::kThreads);
        EXPECT_GE(s.groups, 1);
      }
}

}  // namespace classifier_head_test
}  // namespace headroom::testing
