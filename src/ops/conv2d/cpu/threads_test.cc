// Kernels that promise the same bits for any number of threads, on problems that threads share in every way:
// by images, by groups, by pixels, by maps.
#include <gtest/gtest.h>
#include <omp.h>

#include "ops/conv2d/conv2d.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace conv2d_cpu_threads_test {

const Kernel& kernel_named(const Operator& op, std::string_view name) {
  for (const Kernel& kernel : op.kernels)
    if (kernel.name == name) return kernel;
  fail("no kernel {} of {}", name, op.schema.name);
}

void expect_same_bits(const std::string& op_name, std::string_view kernel, const Case& c) {
  const Operator& op = operator_of(op_name);
  const Problem problem = problem_of(op, c, DType::f32);
  SCOPED_TRACE(problem.str());
  ASSERT_TRUE(accepts(kernel_named(op, kernel), problem, cpu_capabilities()).ok);
  const auto inputs = inputs_of(problem, c, Numbers::normal, 3);
  const int before = omp_get_max_threads();
  std::vector<Values> results;
  for (int threads : {1, 2, 3, 5}) {
    omp_set_num_threads(threads);
    const Run run = run_kernel(kernel_named(op, kernel), problem, inputs);
    EXPECT_TRUE(run.guards_intact);
    results.push_back(run.outputs[0]);
  }
  omp_set_num_threads(before);
  for (const Values& values : results) EXPECT_EQ(values, results[0]);
}

using Ints = std::vector<std::int64_t>;
const Attrs kPadded = {{"pads", Ints{1, 1, 1, 1}}};

TEST(ConvolutionThreads, PixelLanes) {
  for (const Shape& x : {Shape{1, 20, 40, 37}, Shape{1, 96, 7, 7}, Shape{7, 20, 9, 9}})
    expect_same_bits("conv2d", "cpu:pixel_lanes", {.inputs = {x, {80, x[1], 3, 3}, {80}}, .attrs = kPadded});
  expect_same_bits("conv2d", "cpu:pixel_lanes",
                   {.inputs = {{1, 20, 12, 12}, {30, 4, 3, 3}}, .attrs = {{"groups", std::int64_t{5}}}});
}

// Twelve maps fill a tile of their own. Eleven images leave a rest on two threads, seventeen on three.
TEST(ConvolutionThreads, PixelLanesOfTheLastImages) {
  for (std::int64_t images : {11, 17})
    expect_same_bits("conv2d", "cpu:pixel_lanes", {.inputs = {{images, 3, 20, 21}, {12, 3, 5, 5}, {12}}});
}

// In bands of rows, and where results that cross the ends of rows are pooled whole.
TEST(ConvolutionThreads, PixelLanesThatPool) {
  const Attrs pooled = {{"bias", std::int64_t{1}},     {"norm", std::int64_t{0}},
                        {"residual", std::int64_t{0}}, {"pool", std::string("max")},
                        {"pool_kernel", Ints{2, 2}},   {"activation", std::string("tanh")}};
  for (const auto& [x, maps] : {std::pair<Shape, std::int64_t>{{11, 1, 37, 36}, 12},
                                {{2, 1, 150, 131}, 12},
                                {{1, 4, 70, 131}, 40},
                                {{9, 16, 9, 9}, 40}})
    expect_same_bits("conv2d_block", "cpu:pixel_lanes",
                     {.inputs = {x, {maps, x[1], 3, 3}, {maps}}, .attrs = pooled});
}

// Panels of tiles within an image and across images, shared out by maps, in groups, pooled; and the gradient.
TEST(ConvolutionThreads, Winograd) {
  for (const Shape& x : {Shape{1, 20, 40, 37}, Shape{1, 96, 7, 7}, Shape{7, 20, 9, 9}, Shape{11, 3, 5, 4}})
    expect_same_bits("conv2d", "cpu:winograd", {.inputs = {x, {80, x[1], 3, 3}, {80}}, .attrs = kPadded});
  expect_same_bits("conv2d", "cpu:winograd",
                   {.inputs = {{1, 20, 12, 12}, {30, 4, 3, 3}}, .attrs = {{"groups", std::int64_t{5}}}});
  const Attrs pooled = {{"bias", std::int64_t{1}},     {"norm", std::int64_t{0}},
                        {"residual", std::int64_t{0}}, {"pool", std::string("max")},
                        {"pool_kernel", Ints{2, 2}},   {"activation", std::string("relu")}};
  expect_same_bits("conv2d_block", "cpu:winograd",
                   {.inputs = {{3, 16, 41, 39}, {40, 16, 3, 3}, {40}}, .attrs = pooled});
  Attrs input = kPadded;
  input.set("input_shape", Ints{2, 24, 17, 18});
  expect_same_bits("conv2d_grad_input", "cpu:winograd",
                   {.inputs = {{2, 36, 17, 18}, {36, 24, 3, 3}}, .attrs = input});
}

TEST(ConvolutionThreads, Depthwise) {
  Attrs attrs = kPadded;
  attrs.set("groups", std::int64_t{24});
  expect_same_bits("conv2d", "cpu:depthwise", {.inputs = {{3, 24, 40, 40}, {24, 1, 3, 3}}, .attrs = attrs});
  Attrs input = attrs, weight = attrs;
  input.set("input_shape", Ints{3, 24, 40, 40});
  weight.set("weight_shape", Ints{24, 1, 3, 3});
  const Shape x{3, 24, 40, 40};
  expect_same_bits("conv2d_grad_input", "cpu:depthwise", {.inputs = {x, {24, 1, 3, 3}}, .attrs = input});
  expect_same_bits("conv2d_grad_weight", "cpu:depthwise", {.inputs = {x, x}, .attrs = weight});
}

TEST(ConvolutionThreads, MapLanes) {
  for (const Shape& x : {Shape{1, 20, 40, 37}, Shape{7, 20, 9, 9}, Shape{3, 16, 70, 70}}) {
    Attrs attrs = kPadded;
    attrs.set("weight_shape", Ints{50, x[1], 3, 3});
    expect_same_bits("conv2d_grad_weight", "cpu:map_lanes",
                     {.inputs = {x, {x[0], 50, x[2], x[3]}}, .attrs = attrs});
  }
  expect_same_bits(
      "conv2d_grad_weight", "cpu:map_lanes",
      {.inputs = {{6, 20, 12, 12}, {6, 60, 5, 5}},
       .attrs = {{"groups", std::int64_t{5}}, {"strides", Ints{2, 2}}, {"weight_shape", Ints{60, 4, 3, 3}}}});
}

// Pieces of the batch have sums of their own, as many on any number of threads.
TEST(ConvolutionThreads, PiecesOfTheBatch) {
  const Ints weights = {6, 1, 5, 5}, grouped = {10, 2, 3, 3};
  for (std::int64_t images : {40, 100, 333})
    for (const char* kernel : {"cpu:batch_lanes", "cpu:im2col_gemm"})
      expect_same_bits("conv2d_grad_weight", kernel,
                       {.inputs = {{images, 1, 28, 28}, {images, 6, 28, 28}},
                        .attrs = {{"pads", Ints{2, 2, 2, 2}}, {"weight_shape", weights}}});
  for (std::int64_t images : {3, 5, 21})
    expect_same_bits(
        "conv2d_grad_weight", "cpu:im2col_gemm",
        {.inputs = {{images, 4, 9, 9}, {images, 10, 4, 4}},
         .attrs = {{"strides", Ints{2, 2}}, {"groups", std::int64_t{2}}, {"weight_shape", grouped}}});
}

TEST(ConvolutionThreads, FewRowsOfALinearLayer) {
  for (const Shape& x : {Shape{2, 1500}, Shape{5, 1500}, Shape{40, 6011}})
    expect_same_bits("linear", "cpu:few_rows", {.inputs = {x, {203, x[1]}, {203}}});
}

}  // namespace conv2d_cpu_threads_test
}  // namespace headroom::testing
