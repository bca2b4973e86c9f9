// Traits of operators (see OpSchema) against the code that asks for them: a trait that is missing, or that a
// pass, a layer type or a file format does not honour, fails here.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/layers.h"
#include "models/onnx/convert.h"
#include "ops/activation/activation.h"
#include "ops/testing/harness.h"
#include "passes/passes.h"

namespace headroom::testing {
namespace {

std::vector<const OpSchema*> schemas_where(bool (*trait)(const OpSchema&)) {
  std::vector<const OpSchema*> list;
  for (const Operator& op : operators())
    if (trait(op.schema)) list.push_back(&op.schema);
  return list;
}

bool is_function(const OpSchema& s) { return s.elementwise == 1 && s.layer; }

ValueId add(Graph& g, const char* name, const Shape& shape, Role role) {
  return g.add_value({.name = name, .type = {shape, DType::f32}, .role = role});
}

// linear, the operator, linear.
Graph two_linears(const std::string& between) {
  Graph g;
  const ValueId x = add(g, "x", {2, 3}, Role::input), first = add(g, "first", {8, 3}, Role::parameter),
                second = add(g, "second", {5, 8}, Role::parameter);
  const ValueId hidden = g.add_node("linear", {x, first}, {}, "a")[0];
  const ValueId y = g.add_node(between, {hidden}, {}, "f")[0];
  g.outputs = {g.add_node("linear", {y, second}, {}, "b")[0]};
  return g;
}

// A function of one element answers a change of one element at the same place, and nowhere else.
bool computes_each_element_alone(const Operator& op, bool& tried) {
  for (const Case& c : op.cases) {
    if (c.tier != Tier::ci) continue;
    if (c.inputs.size() != 1) return false;
    const Problem p = problem_of(op, c, DType::f64);
    if (p.outputs.size() != 1 || p.outputs[0].shape != p.inputs[0].shape) return false;
    if (p.inputs[0].shape.numel() < 2) continue;
    std::vector<Values> in = inputs_of(p, c, Numbers::normal, 1);
    const Values before = run_kernel(reference_of(op), p, in).outputs[0];
    const std::size_t changed = in[0].size() / 2;
    in[0][changed] += 0.5;
    Values after = run_kernel(reference_of(op), p, in).outputs[0];
    after[changed] = before[changed];
    if (after != before) return false;
    tried = true;
  }
  return tried;
}

TEST(OperatorTraits, ElementwiseIsWhatComputesEachElementAlone) {
  for (const Operator& op : operators()) {
    const OpSchema& schema = op.schema;
    if (schema.is_view || schema.collective || schema.aliases != nullptr || op.kernels.empty()) continue;
    if (schema.name == "relayout") continue;  // moves elements; the reference sees them in one layout
    bool tried = false;
    const bool alone = computes_each_element_alone(op, tried);
    if (!tried) continue;
    EXPECT_EQ(op.schema.elementwise == 1, alone) << op.schema.name;
  }
}

TEST(OperatorTraits, RanksSplitLinearsAroundEveryFunctionOfOneElement) {
  for (const OpSchema* s : schemas_where(is_function)) {
    Graph g = two_linears(s->name);
    EXPECT_EQ(split_linears(g, {.model_parts = 2}), 1) << s->name;
  }
  Graph g = two_linears("softmax");
  EXPECT_EQ(split_linears(g, {.model_parts = 2}), 0) << "a row of it needs all columns";
}

TEST(OperatorTraits, ProductsTakeTheFusibleActivationsAndNoOthers) {
  std::vector<std::string> fused;
  for (const OpSchema* s : schemas_where(is_function)) {
    Graph g = two_linears(s->name);
    fuse(g);
    EXPECT_EQ(g.nodes().size(), s->fusible_activation ? 2U : 3U) << s->name;
    EXPECT_EQ(parse_activation(s->name).has_value(), s->fusible_activation) << s->name;
    if (!s->fusible_activation) continue;
    EXPECT_EQ(schema_of(s->name + "_grad").gradient_of, s->name);
    fused.push_back(s->name);
  }
  EXPECT_EQ(fused.size(), kActivations.size());
}

TEST(OperatorTraits, EveryFunctionIsALayerWithItsAttributesAsOptions) {
  for (const OpSchema* s : schemas_where([](const OpSchema& schema) { return schema.layer; })) {
    const LayerType& type = layer_type(s->name);
    ASSERT_EQ(type.options.size(), s->attributes.size()) << s->name;
    for (std::size_t i = 0; i < type.options.size(); ++i)
      EXPECT_EQ(type.options[i].name, s->attributes[i].name) << s->name;
  }
  for (const Operator& op : operators()) {
    if (op.schema.elementwise != 1 || op.schema.gradient == nullptr || op.schema.name == "cast") continue;
    EXPECT_TRUE(op.schema.layer) << op.schema.name;
  }
}

TEST(OperatorTraits, LayersTakeEveryActivationByItsName) {
  const auto activations = schemas_where([](const OpSchema& schema) { return schema.activation; });
  EXPECT_GE(activations.size(), 7U);
  for (const OpSchema* s : activations) {
    Graph g;
    const ValueId x = add(g, "x", {2, 3}, Role::input);
    lower(Net("one", {3}).linear("a", {.units = 4, .activation = s->name}), g, x, {});
    EXPECT_EQ(g.nodes().back().op, s->name);
  }
}

TEST(OperatorTraits, OnnxFilesAreReadByTheNameTheyAreWrittenWith) {
  for (const OpSchema* s : schemas_where([](const OpSchema& schema) { return !schema.onnx.empty(); }))
    EXPECT_NE(onnx::find_conversion("", s->onnx), nullptr) << s->name;
}

// Published counts of FLOPs leave these out; a convolution or a product must not be among them.
TEST(OperatorTraits, NormalisationsHaveNoProducts) {
  for (const Operator& op : operators()) {
    const std::string& name = op.schema.name;
    const bool normalises = name.find("norm") != std::string::npos ||
                            name.find("softmax") != std::string::npos || name.starts_with("lrn") ||
                            name.starts_with("resize");
    EXPECT_EQ(op.schema.has_products, !normalises) << name;
  }
}

}  // namespace
}  // namespace headroom::testing
