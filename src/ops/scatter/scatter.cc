#include "ops/scatter/scatter.h"

#include <algorithm>
#include <array>

#include "graph/graph.h"
#include "ops/expect.h"
#include "ops/gather/indices.h"
#include "ops/scatter/combine.h"
#include "ops/sectors.h"
#include "ops/stored.h"

namespace headroom {

Reduction reduction_of(const Problem& p) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "add", "mul", "max", "min"};
  const auto it = std::ranges::find(kNames, p.attrs.text("reduction", "none"));
  if (it == kNames.end())
    reject(Hint{fmt::format("{}", fmt::join(kNames, ", "))}, "scatter: reduction is '{}'",
           p.attrs.text("reduction"));
  return static_cast<Reduction>(it - kNames.begin());
}

namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("scatter", in, 3);
  const TensorType &data = in[0], &places = in[1], &updates = in[2];
  if (places.dtype != DType::i32 && places.dtype != DType::i64)
    reject("scatter: places are int32 or int64, not {}", name_of(places.dtype));
  std::vector<std::int64_t> rows = data.shape.vector();
  if (rows.empty() || places.shape.rank() != 1) reject("scatter: it needs rows and a list of places");
  rows[0] = places.shape[0];
  expect_same("scatter", updates, {Shape(rows), data.dtype});
  const bool number = is_float(data.dtype) || data.dtype == DType::i64 || data.dtype == DType::i32;
  if (reduction_of({.op = "scatter", .attrs = attrs}) != Reduction::none && !number)
    reject(Hint{"cast it to int32"}, "scatter: no arithmetic on {}", name_of(data.dtype));
  return {data};
}

// Rows that are replaced are not read.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  if (p.attrs.text("reduction", "none") != "none") c.other = static_cast<double>(p.inputs[2].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0], places = c.input(1);
  const std::string how = c.attrs().text("reduction", "none");
  if (how != "none" && how != "add")
    reject(Hint{"freeze what comes before it"}, "scatter with the reduction '{}' has no gradient", how);
  const bool replaces = how == "none" && c.needed[0];
  const ValueId taken =
      c.needed[2] || replaces ? c.emit("gather", {dy, places}, {{"axis", std::int64_t{0}}}) : kNone;
  const ValueId updates = c.needed[2] ? taken : kNone;
  if (!replaces) return {c.needed[0] ? dy : kNone, kNone, updates};
  const ValueId zeros = c.emit("sub", {taken, taken});
  return {c.emit("scatter", {dy, places, zeros}), kNone, updates};
}

// Data is [extent, inner], and so the sizes of a gather along its first axis are those of a scatter.
GatherSizes sizes_of(const Problem& p) {
  const Shape& data = p.inputs[0].shape;
  return {.op = "scatter", .extent = data[0], .inner = data.numel() / data[0], .count = p.inputs[1].shape[0]};
}

template <class T, class I>
void scatter_columns(const GatherSizes& g, Reduction how, const I* places, const T* updates, T* y,
                     std::int64_t begin, std::int64_t end) {
  for (std::int64_t k = 0; k < g.count; ++k) {
    T* row = y + row_of(g, places[k]) * g.inner;
    const T* update = updates + k * g.inner;
    for (std::int64_t i = begin; i < end; ++i) row[i] = combined(how, row[i], update[i]);
  }
}

// A reduction computes; a replacement moves elements of any type.
template <class F>
Launcher dispatch(const Problem& p, F&& f) {
  const DType dtype = p.outputs[0].dtype;
  if (reduction_of(p) == Reduction::none) return dispatch_stored(dtype, f);
  if (is_float(dtype)) return dispatch_float(dtype, f);
  return dispatch_labels(dtype, f);
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch(p, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = sizes_of(p), how = reduction_of(p)](const LaunchArgs& a) {
        check_indices(g, a.in<I>(1));
        std::copy_n(a.in<T>(0), g.extent * g.inner, a.out<T>(0));
        scatter_columns(g, how, a.in<I>(1), a.in<T>(2), a.out<T>(0), 0, g.inner);
      };
    });
  });
}

// Threads share the columns, so that every row is combined in the order of the updates.
Launcher columns(const Problem& p, const LaunchContext&) {
  return dispatch(p, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = sizes_of(p), how = reduction_of(p)](const LaunchArgs& a) {
        check_indices(g, a.in<I>(1));
        parallel_for(g.extent * g.inner, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
          std::copy(a.in<T>(0) + begin, a.in<T>(0) + end, a.out<T>(0) + begin);
        });
        constexpr std::int64_t kColumns = 64;  // at least, for rows to be written in stretches
        parallel_for(g.inner, std::max(kColumns, kElementwiseGrain / g.count),
                     [&](std::int64_t begin, std::int64_t end, int) {
                       scatter_columns(g, how, a.in<I>(1), a.in<T>(2), a.out<T>(0), begin, end);
                     });
      };
    });
  });
}

Verdict accepts(const Problem& p, const Target& target) {
  return reduction_of(p) == Reduction::none ? accept() : accepts_cpu_floats(p, target);
}

struct Trial {
  Tier tier;
  Shape data;
  std::int64_t count;
  DType places = DType::i64;
  std::optional<DType> dtype = {};
};

// Places repeat where there is more than one; differences exist for "add" alone then.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const std::string how : {"none", "add", "mul", "max", "min"})
    for (const Trial& t : std::vector<Trial>{{Tier::ci, {1}, 1},
                                             {Tier::ci, {9, 5}, 1, DType::i32},
                                             {Tier::ci, {7, 2, 3}, 12},
                                             {Tier::ci, {40}, 30, DType::i32},
                                             {Tier::smoke, {6, 5}, 20, DType::i64, DType::i64},
                                             {Tier::smoke, {6, 5}, 20, DType::i32, DType::i32},
                                             {Tier::smoke, {50, 700}, 300},
                                             {Tier::smoke, {3000}, 5000},
                                             {Tier::perf, {4096, 1024}, 1024},
                                             {Tier::perf, {262144}, 262144}}) {
      std::vector<std::int64_t> rows = t.data.vector();
      rows[0] = t.count;
      const bool smooth = how == "add" || (how == "none" && t.count == 1);
      Case c{.tier = t.tier == Tier::ci && !smooth ? Tier::smoke : t.tier,
             .inputs = {t.data, {t.count}, Shape(rows)},
             .attrs = {{"reduction", how}},
             .fills = {{}, {Fill::Kind::label, double(t.data[0])}, {}},
             .dtypes = {t.dtype, t.places, t.dtype}};
      if (t.dtype) c.fills[0] = c.fills[2] = {Fill::Kind::digit, 3};
      c.exact = how != "mul";
      list.push_back(std::move(c));
    }
  return list;
}

// Each update writes its element, which the first cache does not hold back; it keeps those that are read. The
// stretches of a row that blocks have begin within a sector where rows do.
Work scatter_work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  constexpr std::int64_t kColumns = 256;  // of a block
  const auto g = sizes_of(p);
  const auto element = std::int64_t(size_of(p.outputs[0].dtype));
  const std::int64_t rows = 3 * g.extent + 2 * g.count;  // copied and met again, read and written
  work.main().l2_bytes = double(p.inputs[1].bytes()) +
                         double(rows) * chunked_bytes(g.inner, kColumns, element, g.inner * element);
  return work;
}

}  // namespace

std::vector<Operator> scatter_operators() {
  return {
      {.schema = {.name = "scatter", .infer = infer, .cost = cost, .gradient = gradient, .onnx_opset = 18},
       .kernels = {{.name = "cuda:columns",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .work = scatter_work_cuda,
                    .prepare = HEADROOM_CUDA(prepare_scatter_cuda)},
                   {.name = "cpu:columns", .accepts = accepts, .prepare = columns},
                   {.name = "reference", .accepts = accepts, .prepare = reference}},
       .cases = cases(),
       .exact = true}};
}

}  // namespace headroom
