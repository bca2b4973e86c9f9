#include "ops/arg_max/arg_max.h"

#include "ops/arg_max/replaces.h"
#include "ops/axes.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/stored.h"

namespace headroom {
namespace arg_max_cc {
namespace {

void expect_flag(const Attrs& attrs, std::string_view name, std::int64_t fallback) {
  if (const auto flag = attrs.integer(name, fallback); flag != 0 && flag != 1)
    reject("arg_max: {} is {}, not 0 or 1", name, flag);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("arg_max", in, 1);
  expect_flag(attrs, "keepdims", 1);
  expect_flag(attrs, "select_last_index", 0);
  const Shape& x = in[0].shape;
  const std::int64_t axis = normalize_axis("arg_max", attrs.integer("axis"), x.rank());
  std::vector<std::int64_t> dims = x.vector();
  if (attrs.integer("keepdims", 1) != 0)
    dims[static_cast<std::size_t>(axis)] = 1;
  else
    dims.erase(dims.begin() + axis);
  return {{Shape(dims), DType::i64}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = arg_sizes(p)](const LaunchArgs& a) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t i = 0; i < s.inner; ++i) {
          const T* x = a.in<T>(0) + o * s.extent * s.inner + i;
          std::int64_t best = 0;
          for (std::int64_t k = 1; k < s.extent; ++k)
            if (replaces(x[k * s.inner], x[best * s.inner], s.least, s.last)) best = k;
          a.out<std::int64_t>(0)[o * s.inner + i] = best;
        }
    };
  });
}

constexpr std::int64_t kColumns = 64;  // side by side: the elements of a row of them are neighbours

template <class T>
void search(const ArgSizes& s, const T* x, std::int64_t width, std::int64_t* at) {
  T best[kColumns];
  std::copy_n(x, width, best);
  std::fill_n(at, width, std::int64_t{0});
  for (std::int64_t k = 1; k < s.extent; ++k)
    for (std::int64_t i = 0; i < width; ++i)
      if (const T next = x[k * s.inner + i]; replaces(next, best[i], s.least, s.last))
        best[i] = next, at[i] = k;
}

Launcher columns(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = arg_sizes(p)](const LaunchArgs& a) {
      const std::int64_t blocks = (s.inner + kColumns - 1) / kColumns;
      const std::int64_t unit = s.extent * std::min(s.inner, kColumns);
      parallel_for(s.outer * blocks, kElementwiseGrain / unit + 1,
                   [&](std::int64_t begin, std::int64_t end, int) {
                     for (std::int64_t u = begin; u < end; ++u) {
                       const std::int64_t o = u / blocks, i = u % blocks * kColumns;
                       search(s, a.in<T>(0) + o * s.extent * s.inner + i, std::min(kColumns, s.inner - i),
                              a.out<std::int64_t>(0) + o * s.inner + i);
                     }
                   });
    };
  });
}

std::vector<Case> cases() {
  struct Trial {
    Tier tier;
    Shape shape;
    std::int64_t axis, keepdims = 1, last = 0;
    std::optional<DType> dtype = {};
  };
  std::vector<Case> list;
  for (const Trial& t : std::vector<Trial>{{Tier::ci, {1}, 0},
                                           {Tier::ci, {37}, 0, 0, 1},
                                           {Tier::ci, {6, 37}, -1},
                                           {Tier::ci, {6, 37}, 0, 0},
                                           {Tier::ci, {3, 5, 7}, 1, 0, 1},
                                           {Tier::ci, {3, 5, 70}, 1},
                                           {Tier::ci, {4, 33}, 1, 0, 0, DType::i64},
                                           {Tier::ci, {4, 33}, 1, 0, 1, DType::i32},
                                           {Tier::ci, {33, 4}, 0, 1, 0, DType::u8},
                                           {Tier::smoke, {64, 1000}, 1, 0},
                                           {Tier::smoke, {2, 100, 200}, 1},
                                           {Tier::perf, {4096, 1024}, 1},
                                           {Tier::perf, {128, 32000}, 1},
                                           {Tier::perf, {8, 21, 256, 256}, 1}})
    for (bool ties : {false, true}) {
      Case c{.tier = t.tier, .inputs = {t.shape}, .attrs = {{"axis", t.axis}}};
      if (ties || t.dtype) c.fills = {{Fill::Kind::digit, 5}};
      c.dtypes = {t.dtype};
      if (t.keepdims == 0) c.attrs.set("keepdims", t.keepdims);
      if (t.last == 1) c.attrs.set("select_last_index", t.last);
      list.push_back(c);
    }
  return list;
}

}  // namespace
}  // namespace arg_max_cc

ArgSizes arg_sizes(const Problem& p) {
  const Shape& x = p.inputs[0].shape;
  const std::int64_t axis = normalize_axis(p.op, p.attrs.integer("axis"), x.rank());
  ArgSizes s{.extent = x[static_cast<int>(axis)],
             .least = p.op == "arg_min",
             .last = p.attrs.integer("select_last_index") == 1};
  for (int k = 0; k < x.rank(); ++k)
    if (k != axis) (k < axis ? s.outer : s.inner) *= x[k];
  return s;
}

std::vector<Operator> arg_max_operators() {
  using namespace arg_max_cc;
  std::vector<Operator> list;
  for (const std::string name : {"arg_max", "arg_min"})
    list.push_back({.schema = {.name = name, .infer = infer, .cost = cost},
                    .kernels = {{.name = "cuda:search",
                                 .device = DeviceKind::cuda,
                                 .accepts = accepts_cuda_floats,
                                 .prepare = HEADROOM_CUDA(prepare_arg_max_cuda)},
                                {.name = "cpu:columns", .prepare = columns},
                                {.name = "reference", .prepare = reference}},
                    .cases = cases(),
                    .exact = true});
  return list;
}

}  // namespace headroom
