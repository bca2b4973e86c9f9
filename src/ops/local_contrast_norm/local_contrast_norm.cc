#include "ops/local_contrast_norm/local_contrast_norm.h"

#include "ops/expect.h"

namespace headroom {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "local_contrast_norm";
  expect_inputs(kOp, in, 1);
  expect_float(kOp, in[0]);
  expect_rank(kOp, in[0], 4, "images of shape [N, C, H, W]");
  const std::int64_t kernel = attrs.integer("kernel", 9);
  if (kernel < 1 || kernel % 2 == 0)
    reject(Hint{"9 is usual"}, "{}: kernel is {}; it must be odd, so that a window has a middle pixel", kOp,
           kernel);
  return {in[0]};
}

// A Gaussian is a product of a row and a column: per pixel the channels are added up, then 2 * kernel
// products, for each of the two windows.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const Shape& x = p.inputs[0].shape;
  const auto n = static_cast<double>(x.numel()), pixels = n / static_cast<double>(x[1]);
  c.multiply_add = 2 * pixels * 2 * 2 * static_cast<double>(p.attrs.integer("kernel", 9)) + 2 * n;
  c.other = 3 * n + 2 * pixels;  // channels, difference, quotient; the mean of s, the larger of both
  c.special = pixels;
  return c;
}

}  // namespace

std::vector<Operator> local_contrast_norm_operators() {
  return {{.schema = {.name = "local_contrast_norm", .infer = infer, .cost = cost, .has_products = false},
           .kernels = {},
           .cases = {}}};
}

}  // namespace headroom
