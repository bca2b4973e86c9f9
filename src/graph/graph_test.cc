#include "graph/graph.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

using testing::expect_rejected;

ValueId value_of(Graph& g, const char* name, Shape shape, Role role) {
  return g.add_value({.name = name, .type = {shape, DType::f32}, .role = role});
}

// y = relu(x w'), and the inputs of relu's gradient.
Graph small() {
  Graph g;
  const ValueId x = value_of(g, "x", {2, 3}, Role::input),
                w = value_of(g, "fc.weight", {4, 3}, Role::parameter);
  const ValueId sum = g.add_node("linear", {x, w}, {}, "fc")[0];
  const ValueId y = g.add_node("relu", {sum}, {}, "act")[0];
  const ValueId back = g.add_node("relu_grad", {y, y}, {}, "act", Phase::backward)[0];
  g.add_node("matmul", {back, x}, {{"trans_a", std::int64_t{1}}}, "fc", Phase::backward);
  return g;
}

TEST(Graph, InfersAndNamesWhatANodeMakes) {
  const Graph g = small();
  ASSERT_EQ(g.nodes().size(), 4u);
  const Value& sum = g.value(2);
  EXPECT_EQ(sum.name, "fc.linear");
  EXPECT_EQ(sum.type, (TensorType{{2, 4}, DType::f32}));
  EXPECT_EQ(sum.role, Role::activation);
  EXPECT_EQ(sum.producer, 0);
  EXPECT_EQ(g.value(4).role, Role::gradient);
  EXPECT_EQ(g.find("fc.weight"), 1);
  EXPECT_EQ(g.find("no such"), kNone);
  EXPECT_EQ(g.with_role(Role::parameter), std::vector<ValueId>{1});
  EXPECT_EQ(g.problem(3).str(), "matmul 2x4,2x3 fp32 trans_a=1");
}

TEST(Graph, ErrorsNameTheLayer) {
  Graph g;
  const ValueId x = value_of(g, "x", {2, 3}, Role::input), w = value_of(g, "w", {4, 5}, Role::parameter);
  expect_rejected([&] { g.add_node("linear", {x, w}, {}, "fc7"); }, {"layer 'fc7'", "3", "5"});
  expect_rejected([&] { g.add_node("relo", {x}, {}, "act7"); }, {"layer 'act7'", "relo"});
  try {
    g.add_node("relo", {x}, {}, "act7");
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "did you mean 'relu'?");
  }
  EXPECT_TRUE(g.nodes().empty()) << "a refused node leaves nothing behind";
  EXPECT_EQ(g.values().size(), 2u);
}

TEST(Graph, OneLinePerStoredValueAndPerNode) {
  EXPECT_EQ(small().text(),
            "input      %0 2x3:fp32 'x'\n"
            "parameter  %1 4x3:fp32 'fc.weight'\n"
            "forward    %2 2x4:fp32 = linear(%0, %1)  @fc\n"
            "forward    %3 2x4:fp32 = relu(%2)  @act\n"
            "backward   %4 2x4:fp32 = relu_grad(%3, %3)  @act\n"
            "backward   %5 4x3:fp32 = matmul(%4, %0) trans_a=1  @fc\n");
}

TEST(Graph, APictureForGraphviz) {
  EXPECT_EQ(small().dot(),
            "digraph headroom {\n"
            "  rankdir=TB;\n"
            "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
            "  v0 [label=\"x\\n2x3\", shape=ellipse, fillcolor=white];\n"
            "  v1 [label=\"fc.weight\\n4x3\", shape=ellipse, fillcolor=white];\n"
            "  n0 [label=\"fc\\nlinear\", fillcolor=\"#dbe9f6\"];\n"
            "  v0 -> n0 [label=\"2x3\"];\n"
            "  v1 -> n0 [label=\"4x3\"];\n"
            "  n1 [label=\"act\\nrelu\", fillcolor=\"#dbe9f6\"];\n"
            "  n0 -> n1 [label=\"2x4\"];\n"
            "  n2 [label=\"act\\nrelu_grad\", fillcolor=\"#fde3cf\"];\n"
            "  n1 -> n2 [label=\"2x4\"];\n"
            "  n1 -> n2 [label=\"2x4\"];\n"
            "  n3 [label=\"fc\\nmatmul\", fillcolor=\"#fde3cf\"];\n"
            "  n2 -> n3 [label=\"2x4\"];\n"
            "  v0 -> n3 [label=\"2x3\"];\n"
            "}\n");
}

TEST(Graph, NamesWithQuotesStayInsideTheirStrings) {
  Graph g;
  const ValueId x = value_of(g, "x", {2}, Role::input);
  g.add_node("relu", {x}, {}, "a \"b\" \\");
  EXPECT_NE(g.dot().find(R"(label="a \"b\" \\\nrelu")"), std::string::npos) << g.dot();
}

TEST(Graph, ReplacingNodesMovesTheProducers) {
  Graph g = small();
  std::vector<Node> nodes = g.nodes();
  nodes.erase(nodes.begin() + 2);
  g.replace_nodes(nodes);
  EXPECT_EQ(g.value(3).producer, 1);
  EXPECT_EQ(g.value(4).producer, kNone) << "nobody makes it any more";
  EXPECT_EQ(g.value(5).producer, 2);
}

TEST(Attrs, DefaultsTypesAndPrint) {
  const Attrs attrs{{"groups", std::int64_t{2}}, {"scale", 0.5}, {"pads", std::vector<std::int64_t>{1, 2}}};
  EXPECT_EQ(attrs.integer("groups"), 2);
  EXPECT_EQ(attrs.integer("absent", 7), 7);
  EXPECT_EQ(attrs.text("absent", "x"), "x");
  EXPECT_THROW(attrs.integer("scale"), Error) << "a double is not silently cut";
  EXPECT_EQ(attrs.str(), "groups=2 pads=[1,2] scale=0.5");
}

TEST(Attrs, CopiesChangeAlone) {
  const Attrs first = {{"groups", std::int64_t{2}}};
  Attrs second = first;
  second.set("groups", std::int64_t{3});
  Attrs third = second;
  third.set("stride", std::int64_t{1});
  EXPECT_EQ(first.str(), "groups=2");
  EXPECT_EQ(second.str(), "groups=3");
  EXPECT_EQ(third.str(), "groups=3 stride=1");
}

TEST(Attrs, AreEqualByTheirValues) {
  Attrs attrs;
  EXPECT_EQ(attrs, Attrs());
  EXPECT_TRUE(attrs.empty());
  EXPECT_EQ(attrs.begin(), attrs.end());
  attrs.set("axis", std::int64_t{1});
  EXPECT_EQ(attrs, (Attrs{{"axis", std::int64_t{1}}}));
  EXPECT_NE(attrs, Attrs());
  EXPECT_FALSE(attrs.has("groups"));
}

TEST(Cost, Adds) {
  Cost a{.multiply_add = 1, .other = 2, .special = 3, .bytes_read = 4, .bytes_written = 5};
  a += a;
  EXPECT_EQ(a.flops(), 12);
  EXPECT_EQ(a.bytes(), 18);
  const Cost t = traffic({.op = "x", .inputs = {{{2}, DType::f64}, {{3}, DType::i32}}, .outputs = {{{5}}}});
  EXPECT_EQ(t.bytes_read, 28);
  EXPECT_EQ(t.bytes_written, 20);
}

}  // namespace
}  // namespace headroom
