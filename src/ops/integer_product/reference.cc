// The definitions: plain loops over numbers that are widened first.
#include "ops/integer_product/integer_product.h"

namespace headroom {
namespace integer_product_reference_cc {
namespace {

// One factor: its elements less their zero points.
struct Factor {
  const void* data;
  const void* zeros;
  bool is_signed, each;

  std::int64_t byte(const void* from, std::int64_t i) const {
    return is_signed ? static_cast<const std::int8_t*>(from)[i] : static_cast<const std::uint8_t*>(from)[i];
  }
  std::int64_t at(std::int64_t i, std::int64_t line) const {
    return byte(data, i) - byte(zeros, each ? line : 0);
  }
};

Factor factor(const Problem& p, const LaunchArgs& a, std::size_t i) {
  return {a.inputs[i], a.inputs[i + 2], p.inputs[i].dtype == DType::i8, p.inputs[i + 2].shape.numel() > 1};
}

std::int32_t wrapped(std::int64_t sum) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)); }

void multiply(const Problem& problem, const LaunchArgs& args) {
  const MatmulProblem p = matmul_problem(problem.inputs, {});
  const Factor a = factor(problem, args, 0), b = factor(problem, args, 1);
  auto* c = args.out<std::int32_t>(0);
  for (std::size_t batch = 0; batch < p.a.size(); ++batch)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t t = 0; t < p.k; ++t)
          sum += a.at(p.a[batch] + i * p.k + t, i) * b.at(p.b[batch] + t * p.n + j, j);
        *c++ = wrapped(sum);
      }
}

void convolve(const Problem& problem, const LaunchArgs& args) {
  const Conv2d c = parse_conv2d(problem);
  const Window2d& win = c.window;
  const Factor x = factor(problem, args, 0), w = factor(problem, args, 1);
  auto* y = args.out<std::int32_t>(0);
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t m = 0; m < c.maps; ++m)
      for (std::int64_t oh = 0; oh < win.output.h; ++oh)
        for (std::int64_t ow = 0; ow < win.output.w; ++ow) {
          std::int64_t sum = 0;
          for (std::int64_t k = 0; k < c.depth(); ++k) {
            const std::int64_t channel = m / c.group_maps() * c.group_channels() + k / c.taps();
            const std::int64_t tap = k % c.taps();
            const std::int64_t ih = oh * win.stride.h - win.pad.h + tap / win.kernel.w * win.dilation.h;
            const std::int64_t iw = ow * win.stride.w - win.pad.w + tap % win.kernel.w * win.dilation.w;
            if (ih < 0 || ih >= win.input.h || iw < 0 || iw >= win.input.w) continue;
            sum += x.at(((n * c.channels + channel) * win.input.h + ih) * win.input.w + iw, 0) *
                   w.at(m * c.depth() + k, m);
          }
          *y++ = wrapped(sum);
        }
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return [p](const LaunchArgs& a) { p.op == "matmul_integer" ? multiply(p, a) : convolve(p, a); };
}

}  // namespace
}  // namespace integer_product_reference_cc

Kernel integer_product_reference() {
  using namespace integer_product_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
