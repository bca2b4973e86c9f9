#include "ops/local_contrast_norm/local_contrast_norm.h"

#include <cmath>

#include "graph/graph.h"
#include "ops/expect.h"

namespace headroom {
namespace local_contrast_norm_cc {
namespace {

constexpr const char *kName = "local_contrast_norm", *kGrad = "local_contrast_norm_grad";

void expect_images(const char* op, const TensorType& x, const Attrs& attrs) {
  expect_float(op, x);
  expect_rank(op, x, 4, "images of shape [N, C, H, W]");
  const std::int64_t kernel = attrs.integer("kernel", 9);
  if (kernel < 1 || kernel % 2 == 0)
    reject(Hint{"9 is usual"}, "{}: kernel is {}; it must be odd, so that a window has a middle pixel", op,
           kernel);
  constexpr std::int64_t kMax = 1023;
  if (kernel > kMax) reject("{}: kernel is {}; the max is {}", op, kernel, kMax);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kName, in, 1);
  expect_images(kName, in[0], attrs);
  return {in[0]};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kGrad, in, 2);
  expect_images(kGrad, in[1], attrs);
  expect_same(kGrad, in[0], in[1]);
  return {in[1]};
}

// A Gaussian is a product of a row and a column: per pixel the channels are added up, then 2 * kernel
// products, for each of the two windows. The gradient has two more.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const Shape& x = p.inputs[0].shape;
  const double windows = p.op == kGrad ? 4 : 2;
  const auto n = static_cast<double>(x.numel()), pixels = n / static_cast<double>(x[1]);
  c.multiply_add = windows * pixels * 2 * 2 * static_cast<double>(p.attrs.integer("kernel", 9)) + windows * n;
  c.other = windows / 2 * (3 * n + 2 * pixels);  // channels, difference, quotient; the mean of s, the larger
  c.special = pixels;
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  return {c.emit(kGrad, {c.output_gradients[0], c.input(0)}, c.attrs())};
}

// Over the window, and over the image for the mean.
double sum_length(const Problem& p) {
  const Shape& x = p.inputs[0].shape;
  const auto kernel = static_cast<double>(p.attrs.integer("kernel", 9));
  return static_cast<double>(x[1]) * kernel * kernel + static_cast<double>(x[2] * x[3]);
}

std::vector<Case> cases(std::size_t inputs) {
  std::vector<Case> list;
  auto add = [&](Tier tier, const Shape& x, std::int64_t kernel) {
    list.push_back({.tier = tier, .inputs = std::vector<Shape>(inputs, x), .attrs = {{"kernel", kernel}}});
  };
  add(Tier::ci, {1, 1, 1, 1}, 1);
  add(Tier::ci, {1, 2, 1, 1}, 3);
  add(Tier::ci, {2, 1, 5, 4}, 3);
  add(Tier::ci, {2, 3, 4, 6}, 5);
  add(Tier::ci, {1, 2, 3, 7}, 9);
  add(Tier::ci, {1, 4, 6, 5}, 1);
  add(Tier::smoke, {3, 3, 20, 33}, 9);
  add(Tier::smoke, {2, 16, 17, 9}, 7);
  add(Tier::perf, {64, 3, 64, 64}, 9);
  return list;
}

// Six planes of one number a pixel, two numbers for each image.
std::size_t workspace_cuda(const Problem& problem, const Target&) {
  const ContrastProblem p = contrast_problem(problem);
  return static_cast<std::size_t>(p.images * (6 * p.pixels() + 2)) *
         size_of(master_of(problem.outputs[0].dtype));
}

// Seven passes over planes, nine more of the gradient; x is read three times, then dy twice.
Work work_cuda(const Problem& problem, const Target& target) {
  const bool grad = problem.op == kGrad;
  const ContrastProblem p = contrast_problem(problem);
  const double plane =
      static_cast<double>(p.images * p.pixels() * std::int64_t(size_of(master_of(problem.outputs[0].dtype))));
  Work work = least_work(problem, target);
  return work.add_pass((grad ? 30 : 13) * plane + (grad ? 6 : 2) * double(problem.inputs[0].bytes()),
                       grad ? 16 : 7);
}

Operator make(const char* name, bool grad) {
  return {.schema = {.name = name,
                     .infer = grad ? infer_grad : infer,
                     .cost = cost,
                     .gradient = grad ? nullptr : gradient,
                     .has_products = false},
          .kernels = {{.name = "cuda:planes",
                       .device = DeviceKind::cuda,
                       .accepts = accepts_cuda_floats,
                       .work = work_cuda,
                       .prepare = HEADROOM_CUDA(prepare_contrast_cuda),
                       .workspace = workspace_cuda},
                      {.name = "cpu:planes",
                       .prepare = grad ? contrast_grad_planes : contrast_planes,
                       .workspace = contrast_planes_workspace},
                      {.name = "reference", .prepare = grad ? contrast_grad_reference : contrast_reference}},
          .cases = cases(grad ? 2 : 1),
          .sum_length = sum_length};
}

}  // namespace
}  // namespace local_contrast_norm_cc

ContrastProblem contrast_problem(const Problem& p) {
  const Shape& x = p.inputs[0].shape;
  return {.images = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .reach = (p.attrs.integer("kernel", 9) - 1) / 2};
}

std::vector<double> contrast_weights(std::int64_t reach) {
  const double deviation = static_cast<double>(2 * reach + 1) / 4;
  std::vector<double> weights;
  for (std::int64_t k = 0; k <= reach; ++k) {
    const double at = static_cast<double>(k) / deviation;
    weights.push_back(std::exp(-at * at / 2));
  }
  return weights;
}

std::vector<double> contrast_sums(const std::vector<double>& weights, std::int64_t extent) {
  const auto reach = static_cast<std::int64_t>(weights.size()) - 1;
  std::vector<double> sums(static_cast<std::size_t>(extent));
  for (std::int64_t i = 0; i < extent; ++i)
    for (std::int64_t k = std::max(-reach, -i); k <= std::min(reach, extent - 1 - i); ++k)
      sums[static_cast<std::size_t>(i)] += weights[static_cast<std::size_t>(std::abs(k))];
  return sums;
}

std::vector<Operator> local_contrast_norm_operators() {
  using namespace local_contrast_norm_cc;
  return {make(kName, false), make(kGrad, true)};
}

}  // namespace headroom
