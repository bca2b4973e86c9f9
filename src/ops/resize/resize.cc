#include "ops/resize/resize.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/graph.h"
#include "ops/expect.h"

namespace headroom {
namespace resize_cc {
namespace {

using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

// The attribute, which must be one of the names; absent, the first.
std::string one_of(std::string_view op, const Attrs& attrs, std::string_view attr, const Names& names) {
  const std::string given = attrs.text(attr, names[0]);
  if (std::find(names.begin(), names.end(), given) == names.end())
    reject(nearest(given, names), "{}: unknown {} '{}'", op, attr, given);
  return given;
}

struct Sampling {
  std::string mode, coordinates, rounding;
};

Sampling sampling_of(std::string_view op, const Attrs& attrs) {
  return {one_of(op, attrs, "mode", {"nearest", "bilinear"}),
          one_of(op, attrs, "coordinates", {"half_pixel", "asymmetric", "align_corners"}),
          one_of(op, attrs, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})};
}

Shape resized(std::string_view op, const TensorType& x, const Attrs& attrs) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 24;  // tables of this length are made for each axis
  expect_float(op, x);
  expect_rank(op, x, 4, "NCHW");
  sampling_of(op, attrs);
  const Integers sizes = attrs.integers("sizes");
  if (sizes.size() != 2)
    reject(Hint{"sizes=[64,64]"}, "{} needs 'sizes' with two entries, not {}", op, sizes.size());
  for (std::int64_t size : sizes)
    if (size < 1 || size > kLargest) reject("{} to {} pixels", op, size);
  for (const char* name : {"scale_h", "scale_w"})
    if (attrs.has(name) && !(std::isfinite(attrs.real(name)) && attrs.real(name) > 0))
      reject("{}: {} is {}", op, name, attrs.real(name));
  return {x.shape[0], x.shape[1], sizes[0], sizes[1]};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("resize", in, 1);
  return {{resized("resize", in[0], attrs), in[0].dtype}};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("resize_grad", in, 1);
  const TensorType x{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty("resize_grad", {x});
  expect_same("resize_grad", in[0], {resized("resize_grad", x, attrs), x.dtype});
  return {x};
}

// A weighted mean of two in either direction: three products and sums of two terms for each pixel of y.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const Shape& y = (p.op == "resize" ? p.outputs : p.inputs)[0].shape;
  const auto pixels = static_cast<double>(y.numel());
  if (p.attrs.text("mode") == "bilinear")
    c.multiply_add = 2 * 4 * pixels;
  else if (p.op == "resize_grad")
    c.other = pixels;
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("input_shape", c.graph.value(c.input(0)).type.shape.vector());
  return {c.emit("resize_grad", {c.output_gradients[0]}, std::move(attrs))};
}

double place(const std::string& coordinates, std::int64_t o, std::int64_t input, std::int64_t output,
             double scale) {
  const auto m = static_cast<double>(input), n = static_cast<double>(output), at = static_cast<double>(o);
  if (scale > 0 && coordinates != "align_corners")
    return coordinates == "asymmetric" ? at / scale : (at + 0.5) / scale - 0.5;
  if (coordinates == "asymmetric") return at * m / n;
  if (coordinates == "align_corners") return output == 1 ? 0 : at * (m - 1) / (n - 1);
  return (2 * at + 1) * m / (2 * n) - 0.5;  // one rounding before the half: ties stay ties
}

double rounded(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

ResizeAxis axis_of(const Sampling& s, std::int64_t input, std::int64_t output, double scale) {
  ResizeAxis axis{.input = input, .output = output, .low = {}, .high = {}, .weight = {}};
  for (std::int64_t o = 0; o < output; ++o) {
    const double last = static_cast<double>(input - 1);
    double x = place(s.coordinates, o, input, output, scale);
    if (s.mode == "nearest") x = rounded(s.rounding, x);
    x = std::clamp(x, 0.0, last);
    const auto low = static_cast<std::int64_t>(x);
    axis.low.push_back(low);
    axis.high.push_back(std::min(low + 1, input - 1));
    axis.weight.push_back(x - static_cast<double>(low));
  }
  return axis;
}

// Calls body(input offset, output offset, weight) for each of the four pixels that an output reads.
template <class Body>
void each_tap(const ResizeProblem& p, Body&& body) {
  for (std::int64_t plane = 0; plane < p.planes; ++plane)
    for (std::int64_t i = 0; i < p.rows.output; ++i)
      for (std::int64_t j = 0; j < p.columns.output; ++j)
        for (int corner = 0; corner < 4; ++corner) {
          const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
          const bool below = corner >= 2, right = corner % 2 == 1;
          const std::int64_t row = below ? p.rows.high[r] : p.rows.low[r],
                             column = right ? p.columns.high[c] : p.columns.low[c];
          const double weight = (below ? p.rows.weight[r] : 1 - p.rows.weight[r]) *
                                (right ? p.columns.weight[c] : 1 - p.columns.weight[c]);
          body((plane * p.rows.input + row) * p.columns.input + column,
               (plane * p.rows.output + i) * p.columns.output + j, weight);
        }
}

Launcher reference(const Problem& problem, const LaunchContext&) {
  const ResizeProblem p = resize_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const bool grad = problem.op == "resize_grad";
    return [p, grad, n = problem.outputs[0].shape.numel()](const LaunchArgs& a) {
      const T* in = a.in<T>(0);
      T* out = a.out<T>(0);
      std::fill_n(out, n, T{0});
      each_tap(p, [&](std::int64_t x, std::int64_t y, double weight) {
        if (weight == 0) return;  // nothing of a pixel is nothing, were it infinite
        if (grad)
          out[x] += static_cast<T>(weight) * in[y];
        else
          out[y] += static_cast<T>(weight) * in[x];
      });
    };
  });
}

struct ResizeCase {
  Tier tier;
  Shape input;
  Integers sizes;
};

std::vector<ResizeCase> resize_cases() {
  return {{Tier::ci, {1, 1, 1, 1}, {1, 1}},         {Tier::ci, {1, 2, 1, 1}, {3, 2}},
          {Tier::ci, {2, 3, 4, 5}, {8, 10}},        {Tier::ci, {1, 2, 5, 7}, {11, 9}},
          {Tier::ci, {1, 2, 9, 8}, {4, 5}},         {Tier::ci, {1, 1, 6, 37}, {1, 1}},
          {Tier::smoke, {3, 5, 28, 28}, {56, 56}},  {Tier::smoke, {2, 3, 61, 45}, {33, 70}},
          {Tier::perf, {8, 64, 56, 56}, {112, 112}}};
}

// A table for each axis: 24 bytes for each place, of the longer side.
std::size_t workspace_cuda(const Problem& p, const Target&) {
  const Shape &a = p.inputs[0].shape, &b = p.outputs[0].shape;
  return 24 * static_cast<std::size_t>(std::max(a[2], b[2]) + std::max(a[3], b[3]));
}

Verdict accepts_cuda(const Problem& p, const Target& target) {
  for (const auto* side : {&p.inputs[0].shape, &p.outputs[0].shape})
    if ((*side)[2] > (1 << 30) || (*side)[3] > (1 << 30))
      return refuse("places on an axis are counted in 32 bits");
  return accepts_cuda_floats(p, target);
}

Work work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.main().count = 2;
  if (p.attrs.text("mode") != "bilinear") return work;
  // Four weights of an output, each a product of two; those of a gradient are worked out for each input.
  const Shape &to = p.op == "resize" ? p.outputs[0].shape : p.inputs[0].shape,
              &from = p.op == "resize" ? p.inputs[0].shape : p.outputs[0].shape;
  const double outputs = double(to.numel()), planes = double(to[0] * to[1]);
  work.main().executed = 14 * outputs + (p.op == "resize" ? 0 : planes * double(to[2] * from[3]));
  return work;
}

}  // namespace
}  // namespace resize_cc

ResizeProblem resize_problem(const Problem& p) {
  using namespace resize_cc;
  const bool grad = p.op == "resize_grad";
  const Shape &x = (grad ? p.outputs : p.inputs)[0].shape, &y = (grad ? p.inputs : p.outputs)[0].shape;
  const Sampling s = sampling_of(p.op, p.attrs);
  return {.planes = x[0] * x[1],
          .rows = axis_of(s, x[2], y[2], p.attrs.real("scale_h")),
          .columns = axis_of(s, x[3], y[3], p.attrs.real("scale_w")),
          .nearest = s.mode == "nearest"};
}

// Places grow with o, so that the outputs that read one input lie in a row.
ResizeShares shares_of(const ResizeAxis& axis) {
  ResizeShares shares;
  shares.ranges.resize(static_cast<std::size_t>(axis.input));
  auto each_share = [&](auto&& body) {
    for (std::size_t o = 0; o < axis.low.size(); ++o) {
      const double weight = axis.weight[o];
      body(shares.ranges[static_cast<std::size_t>(axis.low[o])], static_cast<std::int64_t>(o), 1 - weight);
      if (weight != 0)
        body(shares.ranges[static_cast<std::size_t>(axis.high[o])], static_cast<std::int64_t>(o), weight);
    }
  };
  each_share([](ResizeShares::Range& range, std::int64_t o, double) {
    if (range.count == 0) range.begin = o;
    range.count = o - range.begin + 1;
  });
  std::int64_t total = 0;
  for (ResizeShares::Range& range : shares.ranges) {
    range.first = total;
    total += range.count;
  }
  shares.weights.resize(static_cast<std::size_t>(total), 0);
  each_share([&](const ResizeShares::Range& range, std::int64_t o, double weight) {
    shares.weights[static_cast<std::size_t>(range.first + o - range.begin)] += weight;
  });
  return shares;
}

std::vector<Operator> resize_operators() {
  using namespace resize_cc;
  std::vector<Case> forward, backward;
  for (const ResizeCase& c : resize_cases())
    for (const std::string mode : {"nearest", "bilinear"})
      for (const std::string coordinates : {"half_pixel", "asymmetric", "align_corners"}) {
        Attrs attrs{{"sizes", c.sizes}, {"mode", mode}, {"coordinates", coordinates}};
        if (coordinates == "asymmetric") attrs.set("nearest_mode", std::string("floor"));
        if (c.tier == Tier::perf && coordinates == "align_corners") continue;
        const bool exact = mode == "nearest";
        forward.push_back({.tier = c.tier, .inputs = {c.input}, .attrs = attrs, .exact = exact});
        attrs.set("input_shape", c.input.vector());
        backward.push_back({.tier = c.tier,
                            .inputs = {{c.input[0], c.input[1], c.sizes[0], c.sizes[1]}},
                            .attrs = attrs,
                            .exact = exact});
      }
  const Kernel last{.name = "reference", .prepare = reference};
  return {
      {.schema =
           {.name = "resize", .infer = infer, .cost = cost, .gradient = gradient, .has_products = false},
       .kernels = {{.name = "cuda:taps",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda,
                    .work = work_cuda,
                    .prepare = HEADROOM_CUDA(prepare_resize_cuda),
                    .workspace = workspace_cuda},
                   {.name = "cpu:rows", .prepare = resize_rows, .workspace = resize_rows_workspace},
                   last},
       .cases = forward,
       .exact = true},
      {.schema = {.name = "resize_grad", .infer = infer_grad, .cost = cost, .has_products = false},
       .kernels = {{.name = "cuda:taps",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda,
                    .work = work_cuda,
                    .prepare = HEADROOM_CUDA(prepare_resize_grad_cuda),
                    .workspace = workspace_cuda},
                   {.name = "cpu:rows", .prepare = resize_grad_rows, .workspace = resize_grad_rows_workspace},
                   last},
       .cases = backward,
       .exact = true}};
}

}  // namespace headroom
