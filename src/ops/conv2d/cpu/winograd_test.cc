// Where Winograd's convolution is chosen, what it refuses, and what it says of its work. Its results are
// tested with those of all kernels, its bits in threads_test.cc.
#include <gtest/gtest.h>

#include "ops/conv2d/conv2d.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace conv2d_cpu_winograd_test {

using Ints = std::vector<std::int64_t>;

const Kernel& winograd(std::string_view op) {
  for (const Kernel& kernel : operator_of(op).kernels)
    if (kernel.name == "cpu:winograd") return kernel;
  fail("no cpu:winograd of {}", op);
}

Problem layer(Shape x, Shape w, Attrs attrs = {{"pads", Ints{1, 1, 1, 1}}}) {
  return problem_of(operator_of("conv2d"), {.inputs = {x, w}, .attrs = attrs}, DType::f32);
}

std::string refusal(const Problem& p) { return accepts(winograd(p.op), p, cpu_capabilities()).reason; }
bool pays(const Problem& p) { return winograd(p.op).pays(p, cpu_capabilities()).ok; }

TEST(Winograd, SaysWhatItRefuses) {
  EXPECT_EQ(refusal(layer({1, 8, 9, 9}, {8, 8, 3, 3})), "");
  EXPECT_EQ(refusal(layer({1, 8, 9, 9}, {8, 8, 3, 5})), "takes windows of 3x3");
  EXPECT_EQ(refusal(layer({1, 8, 9, 9}, {8, 8, 3, 3}, {{"strides", Ints{1, 2}}})),
            "takes no strides and no dilation");
  EXPECT_EQ(refusal(layer({1, 8, 9, 9}, {8, 8, 3, 3}, {{"dilations", Ints{2, 1}}})),
            "takes no strides and no dilation");
  EXPECT_EQ(refusal(layer({1, 1, 9, 9}, {8, 1, 3, 3})),
            "one channel: its transforms round more than the sums");
}

TEST(Winograd, PaysWhereItSavesMoreThanTheTransformsCost) {
  EXPECT_TRUE(pays(layer({1, 64, 56, 56}, {64, 64, 3, 3})));
  EXPECT_TRUE(pays(layer({16, 256, 13, 13}, {256, 256, 3, 3})));
  EXPECT_FALSE(pays(layer({1, 3, 224, 224}, {64, 3, 3, 3}))) << "few channels";
  EXPECT_FALSE(pays(layer({4, 64, 56, 56}, {2, 64, 3, 3}))) << "few maps";
  EXPECT_FALSE(pays(layer({1, 512, 7, 7}, {512, 512, 3, 3}))) << "few tiles for so many filters";
}

TEST(Winograd, DoesFewerProductsThanTheDefinition) {
  const Problem p = layer({8, 128, 28, 28}, {128, 128, 3, 3});
  const Work work = winograd("conv2d").work(p, cpu_capabilities());
  EXPECT_TRUE(work.fewer_products);
  EXPECT_NEAR(schema_of("conv2d").cost(p).multiply_add / work.flops(), 2.25, 0.05);
}

}  // namespace conv2d_cpu_winograd_test
}  // namespace headroom::testing
