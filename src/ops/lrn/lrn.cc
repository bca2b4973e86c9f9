#include "ops/lrn/lrn.h"

#include <cmath>

#include "graph/graph.h"
#include "ops/expect.h"

namespace headroom {
namespace lrn_cc {
namespace {

void expect_settings(std::string_view op, const TensorType& x, const Attrs& attrs) {
  expect_float(op, x);
  if (x.shape.rank() < 2) reject("{} takes [N, C, …], not {}", op, x.shape.str());
  if (attrs.integer("size") < 1)
    reject(Hint{"the number of channels to sum over, such as 5"}, "{}: size is {}", op,
           attrs.integer("size"));
  const double alpha = attrs.real("alpha", 1e-4), beta = attrs.real("beta", 0.75),
               bias = attrs.real("bias", 1);
  if (!(alpha >= 0)) reject("{}: alpha is {}", op, alpha);
  if (!std::isfinite(beta)) reject("{}: beta is {}", op, beta);
  if (!(bias > 0)) reject(Hint{"1 is usual"}, "{}: bias is {}; it must be above 0", op, bias);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("lrn", in, 1);
  expect_settings("lrn", in[0], attrs);
  return {in[0]};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("lrn_grad", in, 2);
  expect_settings("lrn_grad", in[1], attrs);
  expect_same("lrn_grad", in[0], in[1]);
  return {in[1]};
}

// A sum that slides costs an addition and a subtraction, whatever its length.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  c.multiply_add = 4 * n, c.other = 2 * n, c.special = n;
  if (p.op == "lrn_grad") c.multiply_add = 8 * n, c.other = 5 * n;
  return c;
}

double window_length(const Problem& p) { return static_cast<double>(p.attrs.integer("size")); }

std::vector<ValueId> gradient(const GradientContext& c) {
  return {c.emit("lrn_grad", {c.output_gradients[0], c.input(0)}, c.attrs())};
}

template <class T>
double scale_at(const LrnProblem& p, const T* x, std::int64_t row, std::int64_t channel, std::int64_t i) {
  double sum = 0;
  for (std::int64_t c = p.first(channel); c <= p.last(channel); ++c) {
    const double v = x[(row * p.channels + c) * p.plane + i];
    sum += v * v;
  }
  return p.bias + p.factor * sum;
}

Launcher reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = lrn_problem(problem)](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t c = 0; c < p.channels; ++c)
          for (std::int64_t i = 0; i < p.plane; ++i) {
            const std::int64_t at = (r * p.channels + c) * p.plane + i;
            a.out<T>(0)[at] = static_cast<T>(x[at] * std::pow(scale_at(p, x, r, c, i), -p.beta));
          }
    };
  });
}

// Each output passes its gradient to every channel of its window.
Launcher reference_grad(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = lrn_problem(problem)](const LaunchArgs& a) {
      const T* dy = a.in<T>(0);
      const T* x = a.in<T>(1);
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t c = 0; c < p.channels; ++c)
          for (std::int64_t i = 0; i < p.plane; ++i) {
            const std::int64_t at = (r * p.channels + c) * p.plane + i;
            double d = dy[at] * std::pow(scale_at(p, x, r, c, i), -p.beta);
            for (std::int64_t o = 0; o < p.channels; ++o) {
              if (c < p.first(o) || c > p.last(o)) continue;
              const std::int64_t from = (r * p.channels + o) * p.plane + i;
              d -= 2 * p.factor * p.beta * x[at] * dy[from] * x[from] *
                   std::pow(scale_at(p, x, r, o, i), -p.beta - 1);
            }
            a.out<T>(0)[at] = static_cast<T>(d);
          }
    };
  });
}

std::vector<Case> cases(std::size_t inputs) {
  std::vector<Case> list;
  auto add = [&](Tier tier, const Shape& x, std::int64_t size, double alpha, double beta, double bias = 1) {
    list.push_back({.tier = tier,
                    .inputs = std::vector<Shape>(inputs, x),
                    .attrs = {{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", bias}}});
  };
  add(Tier::ci, {1, 1}, 1, 1e-4, 0.75);
  add(Tier::ci, {2, 5, 3, 3}, 3, 0.5, 0.75);
  add(Tier::ci, {2, 7, 17}, 5, 2.0, 0.75, 2);
  add(Tier::ci, {1, 6, 5, 7}, 4, 1.0, 0.5);
  add(Tier::ci, {1, 3, 4, 5}, 9, 1.0, 1.0);
  add(Tier::ci, {2, 4, 11}, 2, 0.7, 0.6);
  add(Tier::ci, {1, 4, 6}, 3, 5.0, 0.25, 0.01);
  add(Tier::smoke, {2, 96, 27, 27}, 5, 1e-4, 0.75);
  add(Tier::perf, {8, 64, 56, 56}, 5, 1e-4, 0.75);
  return list;
}

// What each output gives to itself and to its window, between the two passes.
std::size_t grad_workspace_cuda(const Problem& p, const Target&) {
  return 2 * static_cast<std::size_t>(p.outputs[0].shape.numel()) *
         (p.outputs[0].dtype == DType::f64 ? 8 : 4);
}

// Elements that a window reads through L2, for each of its own: a block of 256 threads keeps the channels
// that its places share.
double window_reads(const Problem& p) {
  const LrnProblem q = lrn_problem(p);
  std::int64_t taps = 0;
  for (std::int64_t c = 0; c < q.channels; ++c)
    taps += std::min(c, q.before) + 1 + std::min(q.channels - 1 - c, q.after);
  const double others = double(taps) / double(q.channels) - 1;
  return 1 + others * double(std::min<std::int64_t>(q.plane, 256)) / 256;
}

Work work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.main().l2_bytes = double(p.outputs[0].bytes()) * (window_reads(p) + 1);
  return work;
}

// First the windows of x, dy, and both scratches; then the windows of one of them, the other, x and dx.
Work grad_work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  const double window = window_reads(p), scratch = static_cast<double>(grad_workspace_cuda(p, target));
  work.add_pass(2 * scratch);
  work.main().l2_bytes = double(p.outputs[0].bytes()) * (window + 1) + scratch;
  work.launches.back().l2_bytes = scratch / 2 * (window + 1) + 2 * double(p.outputs[0].bytes());
  return work;
}

}  // namespace
}  // namespace lrn_cc

LrnProblem lrn_problem(const Problem& p) {
  const Shape& s = p.inputs[0].shape;
  const std::int64_t size = p.attrs.integer("size");
  return {.rows = s[0],
          .channels = s[1],
          .plane = s.numel() / (s[0] * s[1]),
          .before = (size - 1) / 2,
          .after = size / 2,
          .factor = p.attrs.real("alpha", 1e-4) / static_cast<double>(size),
          .beta = p.attrs.real("beta", 0.75),
          .bias = p.attrs.real("bias", 1)};
}

std::vector<Operator> lrn_operators() {
  using namespace lrn_cc;
  return {
      {.schema = {.name = "lrn", .infer = infer, .cost = cost, .gradient = gradient, .has_products = false},
       .kernels = {{.name = "cuda:windows",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .work = work_cuda,
                    .prepare = HEADROOM_CUDA(prepare_lrn_cuda)},
                   {.name = "cpu:strips", .prepare = lrn_strips},
                   {.name = "reference", .prepare = reference}},
       .cases = cases(1),
       .sum_length = window_length},
      {.schema = {.name = "lrn_grad", .infer = infer_grad, .cost = cost, .has_products = false},
       .kernels = {{.name = "cuda:windows",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .work = grad_work_cuda,
                    .prepare = HEADROOM_CUDA(prepare_lrn_grad_cuda),
                    .workspace = grad_workspace_cuda},
                   {.name = "cpu:strips", .prepare = lrn_grad_strips, .workspace = lrn_grad_workspace},
                   {.name = "reference", .prepare = reference_grad}},
       .cases = cases(2),
       .sum_length = window_length}};
}

}  // namespace headroom
