#include "ops/pool3d/pool3d.h"

#include <algorithm>
#include <limits>

#include "graph/graph.h"
#include "ops/expect.h"
#include "ops/pool/pool.h"

namespace headroom {

Kernel pool3d_cuda_windows();
Kernel pool3d_cpu_rows();

namespace pool3d_cc {
namespace {

using Ints = std::vector<std::int64_t>;

Window3d window_of(const Attrs& attrs, const Shape& input) {
  const Ints kernel = attrs.integers("kernel");
  if (kernel.size() != 3)
    reject(Hint{"kernel=[2,2,2] pools by two"},
           "a pool over volumes needs 'kernel' with three entries, not {}", kernel.size());
  return parse_window3d(attrs, input, kernel, DefaultStride::kernel);
}

TensorType pooled(std::string_view op, const Attrs& attrs, const TensorType& x) {
  expect_float(op, x);
  expect_rank(op, x, 5, "NCDHW");
  const Window3d w = window_of(attrs, x.shape);
  return {{x.shape[0], x.shape[1], w.depth.output, w.rows.output, w.columns.output}, x.dtype};
}

std::vector<TensorType> infer_max(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("max_pool3d", in, 1);
  return {pooled("max_pool3d", attrs, in[0])};
}

std::vector<TensorType> infer_avg(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("avg_pool3d", in, 1);
  return {pooled("avg_pool3d", attrs, in[0])};
}

std::vector<TensorType> infer_max_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("max_pool3d_grad", in, 2);
  expect_same("max_pool3d_grad", in[0], pooled("max_pool3d_grad", attrs, in[1]));
  return {in[1]};
}

std::vector<TensorType> infer_avg_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("avg_pool3d_grad", in, 1);
  const TensorType x{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty("avg_pool3d_grad", {x});
  expect_same("avg_pool3d_grad", in[0], pooled("avg_pool3d_grad", attrs, x));
  return {x};
}

// One comparison or addition for each element of each window, as if none hung over the edge.
Cost cost_max(const Problem& p) {
  const Pool3d pool = parse_pool3d(p);
  Cost c = traffic(p);
  c.other = double(pool.volumes * pool.window.outputs()) * double(pool.window.taps());
  return c;
}

Cost cost_mean(const Problem& p) {
  const Pool3d pool = parse_pool3d(p);
  Cost c = cost_max(p);
  c.other += double(pool.volumes * pool.window.outputs());  // the divisions
  return c;
}

std::vector<ValueId> gradient_max(const GradientContext& c) {
  return {c.emit("max_pool3d_grad", {c.output_gradients[0], c.input(0)}, c.attrs())};
}

std::vector<ValueId> gradient_avg(const GradientContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("input_shape", c.graph.value(c.input(0)).type.shape.vector());
  return {c.emit("avg_pool3d_grad", {c.output_gradients[0]}, std::move(attrs))};
}

// The definition. Calls visit(index in the volume) for each tap of output o that is not padding, and counts
// the elements that divide a mean.
template <class Visit>
std::int64_t each_tap(const Pool3d& p, std::int64_t o, Visit&& visit) {
  const Window3d& w = p.window;
  const auto padded = [](const WindowAxis& a, std::int64_t i, std::int64_t k) {
    return i * a.stride - a.pad + k * a.dilation < a.input + a.pad_end;
  };
  const std::int64_t od = o / w.output_plane(), oh = o / w.columns.output % w.rows.output,
                     ow = o % w.columns.output;
  std::int64_t divisor = 0;
  for (std::int64_t kd = 0; kd < w.depth.kernel; ++kd)
    for (std::int64_t kh = 0; kh < w.rows.kernel; ++kh)
      for (std::int64_t kw = 0; kw < w.columns.kernel; ++kw) {
        const std::int64_t d = w.depth.source(od, kd), h = w.rows.source(oh, kh),
                           v = w.columns.source(ow, kw);
        const bool inside = d >= 0 && h >= 0 && v >= 0;
        divisor += p.count_include_pad
                       ? padded(w.depth, od, kd) && padded(w.rows, oh, kh) && padded(w.columns, ow, kw)
                       : inside;
        if (inside) visit((d * w.rows.input + h) * w.columns.input + v);
      }
  return std::max<std::int64_t>(divisor, 1);
}

template <class T>
std::int64_t place_of_max(const Pool3d& p, std::int64_t o, const T* x) {
  std::int64_t best = -1;
  each_tap(p, o, [&](std::int64_t at) {
    if (best < 0 || exceeds(x[at], x[best])) best = at;
  });
  return best;
}

template <class T>
void pool_volume(const Pool3d& p, const std::string& op, const T* first, const T* x, T* out) {
  if (op.ends_with("_grad")) std::fill(out, out + p.window.inputs(), T{0});
  for (std::int64_t o = 0; o < p.window.outputs(); ++o) {
    if (op == "avg_pool3d") {
      T sum = 0;
      const std::int64_t divisor = each_tap(p, o, [&](std::int64_t at) { sum += first[at]; });
      out[o] = sum / static_cast<T>(divisor);
    } else if (op == "avg_pool3d_grad") {
      const T share = first[o] / static_cast<T>(each_tap(p, o, [](std::int64_t) {}));
      each_tap(p, o, [&](std::int64_t at) { out[at] += share; });
    } else if (op == "max_pool3d") {
      const std::int64_t best = place_of_max(p, o, first);
      out[o] = best < 0 ? -std::numeric_limits<T>::infinity() : first[best];
    } else if (const std::int64_t best = place_of_max(p, o, x); best >= 0) {
      out[best] += first[o];
    }
  }
}

Launcher prepare_reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = parse_pool3d(problem), op = problem.op](const LaunchArgs& a) {
      const bool backward = op.ends_with("_grad");
      const std::int64_t in = p.window.inputs(), out = p.window.outputs();
      for (std::int64_t v = 0; v < p.volumes; ++v)
        pool_volume(p, op, a.in<T>(0) + v * (backward ? out : in),
                    op == "max_pool3d_grad" ? a.in<T>(1) + v * in : nullptr,
                    a.out<T>(0) + v * (backward ? in : out));
    };
  });
}

struct Trial {
  Tier tier;
  Shape x;
  Attrs attrs;
};

std::vector<Trial> trials() {
  const Attr on{std::int64_t{1}};
  const Attr two{Ints{2, 2, 2}}, three{Ints{3, 3, 3}}, ones{Ints(6, 1)};
  return {
      {Tier::ci, {2, 2, 4, 4, 6}, {{"kernel", two}}},
      {Tier::ci, {1, 2, 3, 5, 7}, {{"kernel", two}}},  // a slice, a row and a column are left over
      {Tier::ci, {1, 2, 3, 5, 7}, {{"kernel", two}, {"ceil_mode", on}}},
      {Tier::ci, {2, 1, 5, 6, 4}, {{"kernel", three}, {"strides", two}, {"pads", ones}}},
      {Tier::ci,
       {2, 1, 5, 6, 4},
       {{"kernel", three}, {"strides", two}, {"pads", ones}, {"count_include_pad", on}}},
      {Tier::ci,
       {1, 2, 5, 4, 7},
       {{"kernel", Ints{2, 3, 2}},
        {"strides", Ints{2, 1, 3}},
        {"pads", Ints{1, 2, 0, 0, 1, 1}},
        {"ceil_mode", on},
        {"count_include_pad", on}}},
      {Tier::ci,
       {1, 2, 6, 5, 7},
       {{"kernel", Ints{2, 2, 3}}, {"strides", Ints{1, 1, 1}}, {"dilations", Ints{3, 2, 2}}}},
      {Tier::ci, {1, 1, 5, 4, 6}, {{"kernel", three}, {"auto_pad", std::string("same_upper")}}},
      {Tier::ci, {2, 3, 3, 3, 3}, {{"kernel", three}}},  // global
      {Tier::ci, {1, 2, 3, 2, 4}, {{"kernel", Ints{3, 1, 1}}, {"strides", Ints{1, 1, 1}}}},
      {Tier::smoke, {2, 3, 3, 4, 600}, {{"kernel", two}, {"strides", Ints{1, 2, 1}}}},  // long rows
      {Tier::smoke, {2, 8, 8, 14, 14}, {{"kernel", three}, {"strides", two}, {"pads", ones}}},
      {Tier::perf, {1, 64, 16, 56, 56}, {{"kernel", two}}},
      {Tier::perf, {1, 64, 16, 56, 56}, {{"kernel", three}, {"strides", two}, {"pads", ones}}},
  };
}

std::vector<Case> cases_of(std::string_view op) {
  std::vector<Case> list;
  for (const Trial& t : trials()) {
    Case c{.tier = t.tier, .inputs = {t.x}, .attrs = t.attrs};
    if (op == "avg_pool3d_grad") c.attrs.set("input_shape", t.x.vector());
    if (op.ends_with("_grad")) c.inputs = {pooled(op, t.attrs, {t.x, DType::f32}).shape};
    if (op == "max_pool3d_grad") c.inputs.push_back(t.x);
    list.push_back(std::move(c));
  }
  return list;
}

}  // namespace
}  // namespace pool3d_cc

Pool3d parse_pool3d(const Problem& p) {
  using namespace pool3d_cc;
  const Shape x = p.op.ends_with("_grad") ? p.outputs[0].shape : p.inputs[0].shape;
  return {.volumes = x[0] * x[1],
          .window = window_of(p.attrs, x),
          .count_include_pad = p.attrs.integer("count_include_pad") != 0};
}

std::vector<Operator> pool3d_operators() {
  using namespace pool3d_cc;
  const std::vector<Kernel> kernels = {
      pool3d_cuda_windows(), pool3d_cpu_rows(), {.name = "reference", .prepare = prepare_reference}};
  return {
      {.schema = {.name = "max_pool3d", .infer = infer_max, .cost = cost_max, .gradient = gradient_max},
       .kernels = kernels,
       .cases = cases_of("max_pool3d"),
       .exact = true},
      {.schema = {.name = "max_pool3d_grad", .infer = infer_max_grad, .cost = cost_max},
       .kernels = kernels,
       .cases = cases_of("max_pool3d_grad"),
       .exact = true},
      {.schema = {.name = "avg_pool3d", .infer = infer_avg, .cost = cost_mean, .gradient = gradient_avg},
       .kernels = kernels,
       .cases = cases_of("avg_pool3d")},
      {.schema = {.name = "avg_pool3d_grad", .infer = infer_avg_grad, .cost = cost_mean},
       .kernels = kernels,
       .cases = cases_of("avg_pool3d_grad")},
  };
}

}  // namespace headroom
