#include <gtest/gtest.h>

#include "models/zoo.h"
#include "passes/passes.h"
#include "train/program.h"

namespace headroom {
namespace {

TEST(Precision, ActivationsAreNarrowAndParametersAreNot) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    const Program p = make_program(find_net("lenet5"), {.mode = Mode::train, .batch = 4, .precision = dtype});
    for (ValueId id : p.graph.with_role(Role::parameter))
      EXPECT_EQ(p.graph.value(id).type.dtype, DType::f32) << p.graph.value(id).name;
    EXPECT_EQ(p.graph.value(p.loss).type.dtype, DType::f32);
    EXPECT_EQ(p.graph.value(p.images).type.dtype, DType::f32);
    int products = 0;
    for (const Node& node : p.graph.nodes()) {
      if (node.op != "conv2d" && node.op != "linear" && node.op != "matmul") continue;
      ++products;
      for (ValueId in : node.inputs) EXPECT_EQ(p.graph.value(in).type.dtype, dtype) << node.layer;
    }
    EXPECT_EQ(products, 9);
  }
}

// For every parameter, gradients enter the 16-bit part times the scale and leave it divided by the scale.
TEST(Precision, Fp16GradientsAreScaledInAndOut) {
  const Program p =
      make_program(find_net("lenet5"), {.mode = Mode::train, .batch = 4, .precision = DType::f16});
  std::map<double, int> scales;
  for (const Node& node : p.graph.nodes())
    if (node.op == "cast" && node.attrs.has("scale")) ++scales[node.attrs.real("scale")];
  EXPECT_EQ(scales[4096], 1);
  EXPECT_EQ(scales[1.0 / 4096], static_cast<int>(p.graph.with_role(Role::parameter).size()));
}

TEST(Precision, WideProgramsHaveNoCasts) {
  const Program p = make_program(find_net("lenet5"), {.mode = Mode::train, .batch = 4});
  for (const Node& node : p.graph.nodes()) EXPECT_NE(node.op, "cast");
}

}  // namespace
}  // namespace headroom
