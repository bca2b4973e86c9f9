#include "ops/mlp_classifier/mlp_classifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/bad_input.h"
#include "ops/mlp_classifier/plan.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace mlp_classifier_test {

Problem make(std::string_view op, std::vector<TensorType> inputs, const Attrs& attrs = {}) {
  Problem p{.op = std::string(op), .inputs = std::move(inputs), .outputs = {}, .attrs = attrs};
  p.outputs = schema_of(op).infer(p.inputs, p.attrs);
  return p;
}

Problem classifier(std::int64_t rows, std::int64_t inputs, std::int64_t hidden, std::int64_t classes,
                   const std::string& activation, DType dtype = DType::f64) {
  return make("mlp_classifier",
              {{{rows, inputs}, dtype},
               {{hidden, inputs}, dtype},
               {{hidden}, dtype},
               {{classes, hidden}, dtype},
               {{classes}, dtype},
               {{rows}, DType::i32}},
              {{"activation", activation}});
}

std::vector<Values> by_reference(const Problem& p, const std::vector<Values>& inputs) {
  return run_kernel(reference_of(operator_of(p.op)), p, inputs).outputs;
}

// What the operator stands for, one node after another.
std::vector<Values> by_parts(const Problem& whole, const std::vector<Values>& in) {
  const std::string activation = whole.attrs.text("activation");
  const Problem linear =
      make("linear", {whole.inputs[0], whole.inputs[1], whole.inputs[2]}, {{"activation", activation}});
  const TensorType h = linear.outputs[0];
  const auto y = by_reference(linear, {in[0], in[1], in[2]})[0];
  const auto head =
      by_reference(make("classifier_head", {h, whole.inputs[3], whole.inputs[4], whole.inputs[5]},
                        {{"activation_grad", activation}}),
                   {y, in[3], in[4], in[5]});
  const auto dw1 =
      by_reference(make("matmul", {h, whole.inputs[0]}, {{"trans_a", std::int64_t{1}}}), {head[2], in[0]})[0];
  return {head[0], head[1], dw1, head[5], head[3], head[4]};
}

TEST(MlpClassifier, IsWhatItsPartsCompute) {
  for (const char* activation : {"relu", "sigmoid", "tanh"})
    for (const auto& [rows, inputs, hidden, classes] :
         {std::array<std::int64_t, 4>{1, 1, 1, 2}, {7, 13, 5, 3}, {40, 31, 18, 10}}) {
      const Problem p = classifier(rows, inputs, hidden, classes, activation);
      const Case c{.inputs = {}, .fills = {{}, {}, {}, {}, {}, {Fill::Kind::label, double(classes)}}};
      const auto in = inputs_of(p, c, Numbers::normal, 3);
      const auto got = by_reference(p, in), want = by_parts(p, in);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        ASSERT_EQ(got[o].size(), want[o].size()) << o;
        for (std::size_t i = 0; i < got[o].size(); ++i)
          EXPECT_NEAR(got[o][i], want[o][i], 1e-12 * (1 + std::abs(want[o][i])))
              << p.str() << " output " << o << " element " << i;
      }
    }
}

TEST(MlpClassifier, CostsWhatItsPartsCost) {
  const Problem p = classifier(40, 31, 18, 10, "sigmoid", DType::f32);
  const Cost cost = schema_of(p.op).cost(p);
  EXPECT_EQ(cost.multiply_add, 2.0 * 40 * (2 * 18 * 31 + 3 * 18 * 10));
  EXPECT_EQ(cost.bytes_read, 4.0 * (40 * 31 + 18 * 31 + 18 + 10 * 18 + 10 + 40));
  EXPECT_EQ(cost.bytes_written, 4.0 * (2 + 18 * 31 + 18 + 10 * 18 + 10)) << "neither h nor dz";
}

// New parameters by a learning rate follow from the gradients.
TEST(MlpClassifier, UpdatesAsSgdDoes) {
  Problem p = classifier(7, 13, 5, 3, "tanh");
  const Case c{.inputs = {}, .fills = {{}, {}, {}, {}, {}, {Fill::Kind::label, 3}}};
  auto in = inputs_of(p, c, Numbers::normal, 3);
  const auto gradients = by_reference(p, in);
  constexpr double kRate = 0.25, kL2 = 0.5;
  p.attrs.set("l2", kL2), p.attrs.set("penalized", std::vector<std::int64_t>{1, 0, 0, 1});
  p.inputs.push_back({{1}, DType::f64});
  const Cost before = schema_of(p.op).cost(classifier(7, 13, 5, 3, "tanh")), cost = schema_of(p.op).cost(p);
  EXPECT_EQ(cost.multiply_add - before.multiply_add, 4.0 * (5 * 13 + 3) + 2.0 * (5 + 3 * 5));
  in.push_back({kRate});
  const auto updated = by_reference(p, in);
  EXPECT_EQ(updated[0], gradients[0]);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < gradients[2 + i].size(); ++k) {
      const double old = in[1 + i][k], l2 = i == 0 || i == 3 ? kL2 : 0;
      EXPECT_NEAR(updated[2 + i][k], old - kRate * (gradients[2 + i][k] + l2 * old), 1e-15) << i << " " << k;
    }
}

TEST(MlpClassifier, ALabelThatIsNoClassSpoilsTheLossAndTheGradients) {
  for (const Kernel& kernel : kernels_here(operator_of("mlp_classifier"))) {
    const bool gpu = kernel.device == DeviceKind::cuda;
    const Problem p = classifier(2, 2, 2, 2, "tanh", gpu ? DType::f32 : DType::f64);
    const auto out =
        run_kernel(kernel, p, {{1, 2, 3, 4}, {1, 0, 0, 1}, {0, 0}, {1, 0, 0, 1}, {0, 0}, {2, 1}}).outputs;
    EXPECT_EQ(out[1][0], 1) << kernel.name;
    for (std::size_t o : {0u, 2u, 3u, 4u, 5u})
      for (double value : out[o]) EXPECT_TRUE(std::isnan(value)) << kernel.name << " output " << o;
  }
}

TEST(MlpClassifier, ShapesMustFit) {
  const TensorType x{{4, 6}, DType::f32}, w1{{5, 6}, DType::f32}, b1{{5}, DType::f32}, w2{{3, 5}, DType::f32},
      b2{{3}, DType::f32}, labels{{4}, DType::i32};
  const auto infer = [](std::vector<TensorType> in, const char* activation = "relu") {
    make("mlp_classifier", std::move(in), {{"activation", std::string(activation)}});
  };
  EXPECT_NO_THROW(infer({x, w1, b1, w2, b2, labels}));
  expect_rejected([&] { infer({x, {{5, 7}, DType::f32}, b1, w2, b2, labels}); }, {"mlp_classifier", "5x7"});
  expect_rejected([&] { infer({x, w1, {{4}, DType::f32}, w2, b2, labels}); }, {"mlp_classifier"});
  expect_rejected([&] { infer({x, w1, b1, {{3, 4}, DType::f32}, b2, labels}); }, {"mlp_classifier"});
  expect_rejected([&] { infer({x, w1, b1, w2, b2, {{3}, DType::i32}}); }, {"mlp_classifier"});
  expect_rejected([&] { infer({x, w1, b1, w2, b2}); }, {"mlp_classifier", "6", "5"});
  expect_rejected([&] { infer({x, w1, b1, w2, b2, labels, {{1}, DType::f32}}); }, {"mlp_classifier"});
  expect_rejected([&] { infer({x, w1, b1, w2, b2, labels}, "gelu"); }, {"'gelu'"});
  expect_rejected([&] { infer({x, w1, b1, w2, b2, labels}, ""); }, {"mlp_classifier"});
}

TEST(MlpClassifierPlan, TakesEveryRowAndInputOnce) {
  constexpr int kShared = 227 * 1024, kOwnVariables = 1536;
  for (std::int64_t rows : {1, 16, 17, 800, 3200, 60001})
    for (std::int64_t inputs : {1, 16, 17, 100, 784, 3072})
      for (std::int64_t hidden : {1, 16, 33, 100, 128, 250})
        for (int parts : {1, 2}) {
          const MlpClassifierPlan p = plan_mlp_classifier(rows, inputs, hidden, 10, parts, 132);
          if (p.rows == 0) continue;
          EXPECT_GE(p.tiles * p.rows, rows);
          EXPECT_LT((p.tiles - 1) * p.rows, rows);
          EXPECT_GE(p.blocks * p.inputs, inputs);
          EXPECT_LT((p.blocks - 1) * p.inputs, inputs) << "a block would have nothing to do";
          EXPECT_GE(p.units, hidden);
          EXPECT_GE(p.columns, p.units);
          EXPECT_LE(p.clusters, p.tiles);
          EXPECT_LE(p.blocks_in_all(), 132) << "clusters run at once";
          EXPECT_LE(p.shared_bytes(10) + kOwnVariables, kShared);
          EXPECT_EQ(p.inputs % MlpClassifierPlan::kStep + p.rows % 16 + p.units % 16, 0);
        }
}

TEST(MlpClassifierPlan, RefusesWhatAClusterCannotHold) {
  EXPECT_GT(plan_mlp_classifier(64, 784, 256, 10, 2, 132).rows, 0);
  EXPECT_EQ(plan_mlp_classifier(64, 784, 257, 10, 2, 132).rows, 0) << "units";
  EXPECT_EQ(plan_mlp_classifier(64, 784, 64, 17, 2, 132).rows, 0) << "classes";
  EXPECT_EQ(plan_mlp_classifier(64, 8 * 512 + 1, 16, 10, 2, 132).rows, 0) << "inputs";
  EXPECT_EQ(plan_mlp_classifier(64, 4096, 250, 10, 2, 132).rows, 0) << "weights";
}

TEST(MlpClassifierPlan, PaysWhereEveryClusterHasOneTile) {
  const Kernel& kernel = operator_of("mlp_classifier").kernels.front();
  const Target h200(Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132});
  const auto verdict = [&](std::int64_t rows, std::int64_t hidden) {
    const Problem p = classifier(rows, 784, hidden, 10, "sigmoid", DType::f32);
    EXPECT_TRUE(accepts(kernel, p, h200).ok);
    return kernel.pays(p, h200);
  };
  EXPECT_TRUE(verdict(800, 100).ok);
  EXPECT_TRUE(verdict(3200, 64).ok);
  EXPECT_FALSE(verdict(60000, 64).ok);
  EXPECT_NE(verdict(60000, 64).reason.find("turns"), std::string::npos);
  const Problem p = classifier(800, 784, 100, 10, "sigmoid", DType::f32);
  EXPECT_FALSE(
      accepts(kernel, p, Target(Capabilities{.kind = DeviceKind::cuda, .compute_capability = 80})).ok);
}

}  // namespace mlp_classifier_test
}  // namespace headroom::testing
