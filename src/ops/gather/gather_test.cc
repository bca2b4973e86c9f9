#include <gtest/gtest.h>

#include <omp.h>

#include "base/testing/bad_input.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace gather_test {

using Integers = std::vector<std::int64_t>;

Problem make(std::string op, TensorType first, TensorType indices, Attrs attrs) {
  Problem p{.op = op, .inputs = {first, indices}, .outputs = {}, .attrs = std::move(attrs)};
  p.outputs = operator_of(op).schema.infer(p.inputs, p.attrs);
  return p;
}

TEST(Gather, NegativeIndicesCountFromTheEnd) {
  const Problem p = make("gather", {{3, 2}, DType::f64}, {{2, 2}, DType::i64}, {});
  EXPECT_EQ(p.outputs[0].shape, (Shape{2, 2, 2}));
  for (const Kernel& kernel : kernels_here(operator_of("gather")))
    EXPECT_EQ(run_kernel(kernel, p, {{1, 2, 3, 4, 5, 6}, {-1, 0, -3, 1}}).outputs[0],
              (Values{5, 6, 1, 2, 1, 2, 3, 4}));
}

TEST(Gather, AScalarIndexDropsTheAxis) {
  const Problem p = make("gather", {{2, 3}, DType::i32}, {Shape{}, DType::i32}, {{"axis", std::int64_t{1}}});
  EXPECT_EQ(p.outputs[0].shape, (Shape{2}));
  for (const Kernel& kernel : kernels_here(operator_of("gather")))
    EXPECT_EQ(run_kernel(kernel, p, {{1, 2, 3, 4, 5, 6}, {1}}).outputs[0], (Values{2, 5}));
}

TEST(Gather, IndicesOutsideStopTheRun) {
  const Problem forth = make("gather", {{3, 2}, DType::f32}, {{4}, DType::i32}, {});
  const Problem back =
      make("gather_grad", {{4, 2}, DType::f32}, {{4}, DType::i32}, {{"input_shape", Integers{3, 2}}});
  for (double bad : {3.0, -4.0, 2147483647.0, -2147483648.0})
    for (const Problem* p : {&forth, &back})
      for (const Kernel& kernel : kernels_here(operator_of(p->op))) {
        if (kernel.device != DeviceKind::cpu) continue;  // a GPU cannot stop there, see gather.h
        const Values first(static_cast<std::size_t>(p->inputs[0].shape.numel()), 1);
        SCOPED_TRACE(fmt::format("{} {} {}", p->op, kernel.name, bad));
        expect_rejected(
            [&] {
              run_kernel(kernel, *p, {first, {0, 2, bad, bad}});
            },
            {p->op, fmt::format("index {}", std::int64_t(bad)), "place 2", "3 elements"});
      }
}

TEST(Gather, GradientAddsWhatWasTakenTwice) {
  const Problem p =
      make("gather_grad", {{4, 1}, DType::f64}, {{4}, DType::i64}, {{"input_shape", Integers{3, 1}}});
  for (const Kernel& kernel : kernels_here(operator_of("gather_grad")))
    EXPECT_EQ(run_kernel(kernel, p, {{1, 2, 4, 8}, {0, -1, 2, 0}}).outputs[0], (Values{9, 0, 6}));
}

TEST(Gather, GradientHasTheSameBitsForAnyNumberOfThreads) {
  const Operator& op = operator_of("gather_grad");
  const int most = omp_get_max_threads();
  for (const Case& c : op.cases) {
    if (c.tier == Tier::perf) continue;
    const Problem p = problem_of(op, c, DType::f32);
    const auto inputs = inputs_of(p, c, Numbers::normal, 3);
    omp_set_num_threads(1);
    const Values one = run_kernel(cpu_kernel(op), p, inputs).outputs[0];
    omp_set_num_threads(3);
    EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs[0], one) << p.str();
    omp_set_num_threads(most);
  }
}

TEST(Gather, RejectsBadTypes) {
  EXPECT_THROW(make("gather", {{3}, DType::f32}, {{2}, DType::f32}, {}), Error);
  EXPECT_THROW(make("gather", {{3}, DType::f32}, {{2}, DType::i32}, {{"axis", std::int64_t{1}}}), Error);
  EXPECT_THROW(make("gather", {Shape{}, DType::f32}, {{2}, DType::i32}, {}), Error);
}

}  // namespace gather_test
}  // namespace headroom::testing
