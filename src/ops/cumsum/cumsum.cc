#include "ops/cumsum/cumsum.h"

#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/stored.h"

namespace headroom {
namespace cumsum_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("cumsum", in, 1);
  if (!is_float(in[0].dtype) && in[0].dtype != DType::i64 && in[0].dtype != DType::i32)
    reject(Hint{"cast it to int64"}, "cumsum takes numbers, not {}", name_of(in[0].dtype));
  normalize_axis("cumsum", attrs.integer("axis"), in[0].shape.rank());
  for (const char* name : {"exclusive", "reverse"})
    if (const auto flag = attrs.integer(name); flag != 0 && flag != 1)
      reject("cumsum: {} is {}, not 0 or 1", name, flag);
  return {in[0]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

// An element counts in all sums after it: its gradient is the sum of theirs.
std::vector<ValueId> gradient(const GradientContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("reverse", std::int64_t{1} - attrs.integer("reverse"));
  return {c.emit("cumsum", {c.output_gradients[0]}, attrs)};
}

double sum_length(const Problem& p) { return static_cast<double>(cumsum_sizes(p).extent); }

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// One line of the tensor, its sum held in S.
template <class S, class T>
void run_line(const CumsumSizes& s, const T* x, T* y) {
  S sum = 0;
  for (std::int64_t k = 0; k < s.extent; ++k) {
    const std::int64_t at = (s.reverse ? s.extent - 1 - k : k) * s.inner;
    const S next = sum + static_cast<S>(x[at]);
    y[at] = static_cast<T>(s.exclusive ? sum : next);
    sum = next;
  }
}

template <class F>
Launcher dispatch(const Problem& p, F&& f) {
  if (is_float(p.outputs[0].dtype)) return dispatch_float(p.outputs[0].dtype, f);
  return dispatch_labels(p.outputs[0].dtype, f);
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch(p, [&]<class T>() -> Launcher {
    using S = std::conditional_t<std::is_floating_point_v<T>, long double, T>;
    return [s = cumsum_sizes(p)](const LaunchArgs& a) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t i = 0; i < s.inner; ++i) {
          const std::int64_t line = o * s.extent * s.inner + i;
          run_line<S>(s, a.in<T>(0) + line, a.out<T>(0) + line);
        }
    };
  });
}

constexpr std::int64_t kColumns = 64;  // side by side: the elements of a row of them are neighbours

template <class T>
void run_columns(const CumsumSizes& s, const T* x, std::int64_t width, T* y) {
  Wide<T> sums[kColumns] = {};
  for (std::int64_t k = 0; k < s.extent; ++k) {
    const std::int64_t at = (s.reverse ? s.extent - 1 - k : k) * s.inner;
    for (std::int64_t i = 0; i < width; ++i) {
      const Wide<T> next = sums[i] + static_cast<Wide<T>>(x[at + i]);
      y[at + i] = static_cast<T>(s.exclusive ? sums[i] : next);
      sums[i] = next;
    }
  }
}

Launcher columns(const Problem& p, const LaunchContext&) {
  return dispatch(p, [&]<class T>() -> Launcher {
    return [s = cumsum_sizes(p)](const LaunchArgs& a) {
      const std::int64_t blocks = (s.inner + kColumns - 1) / kColumns;
      const std::int64_t unit = s.extent * std::min(s.inner, kColumns);
      parallel_for(s.outer * blocks, kElementwiseGrain / unit + 1,
                   [&](std::int64_t begin, std::int64_t end, int) {
                     for (std::int64_t u = begin; u < end; ++u) {
                       const std::int64_t i = u % blocks * kColumns, at = u / blocks * s.extent * s.inner + i;
                       run_columns(s, a.in<T>(0) + at, std::min(kColumns, s.inner - i), a.out<T>(0) + at);
                     }
                   });
    };
  });
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Tier tier, Shape shape, std::int64_t axis, std::optional<DType> dtype = {}) {
    for (std::int64_t way = 0; way < 4; ++way) {
      Case c{.tier = tier, .inputs = {shape}, .attrs = {{"axis", axis}}, .dtypes = {dtype}};
      if (dtype) c.fills = {{Fill::Kind::digit, 9}};
      if (way % 2 == 1) c.attrs.set("exclusive", std::int64_t{1});
      if (way / 2 == 1) c.attrs.set("reverse", std::int64_t{1});
      list.push_back(c);
    }
  };
  add(Tier::ci, {1}, 0);
  add(Tier::ci, {37}, 0);
  add(Tier::ci, {6, 33}, -1);
  add(Tier::ci, {6, 7}, 0);
  add(Tier::ci, {3, 5, 7}, 1);
  add(Tier::smoke, {4, 33}, 1, DType::i64);
  add(Tier::smoke, {33, 4}, 0, DType::i32);
  add(Tier::smoke, {64, 1000}, 1);
  add(Tier::smoke, {2, 100, 70}, 1);
  add(Tier::perf, {4096, 1024}, 1);
  add(Tier::perf, {64, 1024, 64}, 1);
  return list;
}

}  // namespace
}  // namespace cumsum_cc

CumsumSizes cumsum_sizes(const Problem& p) {
  const Shape& x = p.inputs[0].shape;
  const std::int64_t axis = normalize_axis(p.op, p.attrs.integer("axis"), x.rank());
  CumsumSizes s{.extent = x[static_cast<int>(axis)],
                .exclusive = p.attrs.integer("exclusive") == 1,
                .reverse = p.attrs.integer("reverse") == 1};
  for (int k = 0; k < x.rank(); ++k)
    if (k != axis) (k < axis ? s.outer : s.inner) *= x[k];
  return s;
}

std::vector<Operator> cumsum_operators() {
  using namespace cumsum_cc;
  return {{.schema = {.name = "cumsum", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = {{.name = "cuda:scan",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_cumsum_cuda)},
                       {.name = "cpu:columns", .prepare = columns},
                       {.name = "reference", .prepare = reference}},
           .cases = cases(),
           .exact = true,
           .sum_length = sum_length}};
}

}  // namespace headroom
