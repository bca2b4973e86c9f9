#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "ops/testing/graph_run.h"

namespace headroom::testing {
namespace concat_test {

using Integers = std::vector<std::int64_t>;

std::vector<TensorType> infer(std::string_view op, std::vector<Shape> shapes, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Shape& shape : shapes) types.push_back({shape, DType::f32});
  return operator_of(op).schema.infer(types, attrs);
}

TEST(Concat, PutsInputsSideBySide) {
  const Problem p{.op = "concat",
                  .inputs = {{{2, 1}, DType::i64}, {{2, 2}, DType::i64}},
                  .outputs = {{{2, 3}, DType::i64}},
                  .attrs = {{"axis", std::int64_t{-1}}}};
  for (const Kernel& kernel : kernels_here(operator_of("concat")))
    EXPECT_EQ(run_kernel(kernel, p, {{1, 4}, {2, 3, 5, 6}}).outputs[0], (Values{1, 2, 3, 4, 5, 6}));
}

TEST(Concat, RejectsWhatDoesNotFit) {
  const Attrs axis0{{"axis", std::int64_t{0}}};
  EXPECT_THROW(infer("concat", {}, axis0), Error);
  EXPECT_THROW(infer("concat", {{2, 3}, {2, 4}}, axis0), Error);
  EXPECT_THROW(infer("concat", {{2, 3}, {2}}, axis0), Error);
  EXPECT_THROW(infer("concat", {{2}, {2}}, {{"axis", std::int64_t{1}}}), Error);
  EXPECT_THROW(operator_of("concat").schema.infer({{{2}, DType::f32}, {{2}, DType::f64}}, axis0), Error);
}

TEST(Split, PartsThatDoNotDivideLeaveASmallerLastOne) {
  const auto out = infer("split", {{7, 2}}, {{"parts", std::int64_t{3}}});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].shape, (Shape{3, 2}));
  EXPECT_EQ(out[1].shape, (Shape{3, 2}));
  EXPECT_EQ(out[2].shape, (Shape{1, 2}));
}

TEST(Split, RejectsSizesThatDoNotAddUp) {
  for (const Integers& sizes : {Integers{3, 3}, {3, 5}, {7, 0}, {8, -1}, {}})
    EXPECT_THROW(infer("split", {{7}}, {{"sizes", sizes}}), Error)
        << fmt::format("{}", fmt::join(sizes, ","));
  EXPECT_THROW(infer("split", {{7}}, {{"parts", std::int64_t{0}}}), Error);
  EXPECT_THROW(infer("split", {{7}}, {{"parts", std::int64_t{8}}}), Error);
  EXPECT_THROW(infer("split", {{5}}, {{"parts", std::int64_t{4}}}), Error) << "2, 2, 1 and nothing";
  EXPECT_THROW(infer("split", {{7}}, {}), Error);
  EXPECT_THROW(infer("split", {{7}}, {{"parts", std::int64_t{1}}, {"sizes", Integers{7}}}), Error);
}

// x is cut in three; the second piece is not used, the third twice.
TEST(Split, UnusedPiecesHaveZeroGradient) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .type = {{6}, DType::f64}, .role = Role::input});
  const auto piece = graph.add_node("split", {x}, {{"parts", std::int64_t{3}}}, "cut");
  const ValueId twice = graph.add_node("add", {piece[2], piece[2]}, {}, "twice").at(0);
  const ValueId y = graph.add_node("add", {piece[0], twice}, {}, "sum").at(0);
  const ValueId dx = differentiate(graph, y, {x}).at(x);
  EXPECT_EQ(interpret(graph, {{x, {1, 2, 3, 4, 5, 6}}}).at(dx), (Values{1, 1, 0, 0, 2, 2}));
}

TEST(Split, GradientOfAllPiecesIsTheirConcatenation) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .type = {{2, 2}, DType::f64}, .role = Role::input});
  const Attrs attrs{{"axis", std::int64_t{1}}, {"sizes", Integers{1, 1}}};
  const auto piece = graph.add_node("split", {x}, attrs, "cut");
  const ValueId y = graph.add_node("add", {piece[0], piece[1]}, {}, "sum").at(0);
  const ValueId dx = differentiate(graph, y, {x}).at(x);
  EXPECT_EQ(graph.nodes().back().op, "concat");
  EXPECT_EQ(interpret(graph, {{x, {1, 2, 3, 4}}}).at(dx), (Values{1, 1, 1, 1}));
}

}  // namespace concat_test
}  // namespace headroom::testing
