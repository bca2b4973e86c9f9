#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace updates_sgd_test {

using Integers = std::vector<std::int64_t>;
const TensorType kRate{{1}, DType::f64};
const Attr kOn{std::int64_t{1}};

Problem make(std::vector<TensorType> inputs, const Attrs& attrs) {
  Problem p{.op = "sgd", .inputs = std::move(inputs), .outputs = {}, .attrs = attrs};
  p.outputs = schema_of("sgd").infer(p.inputs, p.attrs);
  return p;
}

std::vector<Values> step(const Kernel& kernel, const Attrs& attrs, const std::vector<Values>& inputs) {
  std::vector<TensorType> types = {kRate};
  for (std::size_t i = 1; i < inputs.size(); ++i)
    types.push_back({{static_cast<std::int64_t>(inputs[i].size())}, DType::f64});
  return run_kernel(kernel, make(types, attrs), inputs).outputs;
}

std::vector<Kernel> fp64_kernels() {
  const TensorType one{{1}, DType::f64};
  return kernels_for(make({kRate, one, one}, {}));
}

TEST(Sgd, StepsAgainstTheGradient) {
  for (const Kernel& kernel : fp64_kernels())
    EXPECT_EQ(step(kernel, {}, {{0.5}, {1, 2}, {4, -4}}), (std::vector<Values>{{-1, 4}})) << kernel.name;
}

TEST(Sgd, PenalizesOnlyWhatIsNamed) {
  const Attrs attrs{{"l2", 0.5}, {"penalized", Integers{1, 0}}};
  for (const Kernel& kernel : fp64_kernels())
    EXPECT_EQ(step(kernel, attrs, {{1}, {8}, {0}, {8}, {1}}), (std::vector<Values>{{4}, {7}})) << kernel.name;
}

TEST(Sgd, MomentumAccumulates) {
  for (const Kernel& kernel : fp64_kernels()) {
    EXPECT_EQ(step(kernel, {{"momentum", 0.5}}, {{0.25}, {10}, {2}, {4}}), (std::vector<Values>{{9}, {4}}));
    const Attrs nesterov{{"momentum", 0.5}, {"nesterov", kOn}};
    EXPECT_EQ(step(kernel, nesterov, {{0.25}, {10}, {2}, {4}}), (std::vector<Values>{{9}, {4}}));
    EXPECT_EQ(step(kernel, nesterov, {{0.25}, {10}, {2}, {12}}), (std::vector<Values>{{8.5}, {8}}));
  }
}

TEST(Sgd, OutputsTakeTheStorageOfTheirInputs) {
  const TensorType w{{3, 2}, DType::f32}, b{{2}, DType::f32};
  const auto aliases = schema_of("sgd").aliases;
  EXPECT_EQ(aliases(make({kRate, w, w, b, b}, {})), (std::vector<int>{1, 3}));
  const Problem heavy = make({kRate, w, w, w, b, b, b}, {{"momentum", 0.9}});
  EXPECT_EQ(aliases(heavy), (std::vector<int>{1, 3, 4, 6}));
  EXPECT_EQ(heavy.outputs, (std::vector<TensorType>{w, w, b, b}));
}

TEST(Sgd, NanReachesTheParameter) {
  for (const Kernel& kernel : fp64_kernels()) {
    const auto out = step(kernel, {}, {{0.5}, {1, 1}, {std::nan(""), 0}});
    EXPECT_TRUE(std::isnan(out[0][0])) << kernel.name;
    EXPECT_EQ(out[0][1], 1) << kernel.name;
  }
}

TEST(Sgd, RejectsBadRequests) {
  const TensorType w{{3, 2}, DType::f32}, b{{2}, DType::f32};
  EXPECT_THROW(make({kRate}, {}), Error);
  EXPECT_THROW(make({kRate, w}, {}), Error);
  EXPECT_THROW(make({kRate, w, b}, {}), Error);
  EXPECT_THROW(make({kRate, w, w}, {{"momentum", 0.9}}), Error);
  EXPECT_THROW(make({kRate, w, w}, {{"nesterov", kOn}}), Error);
  EXPECT_THROW(make({kRate, w, w, w}, {{"momentum", 1.5}}), Error);
  EXPECT_THROW(make({kRate, w, w}, {{"momentum", -0.5}}), Error);
  EXPECT_THROW(make({kRate, w, w}, {{"l2", -1.0}}), Error);
  EXPECT_THROW(make({kRate, w, w}, {{"penalized", Integers{1, 0}}}), Error);
  EXPECT_THROW(make({{{1}, DType::f32}, w, w}, {}), Error);
  EXPECT_THROW(make({kRate, w, w, {{2}, DType::f64}, {{2}, DType::f64}}, {}), Error);
}

}  // namespace updates_sgd_test
}  // namespace headroom::testing
