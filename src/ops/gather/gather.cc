#include "ops/gather/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/strided_copy.h"
#include "ops/expect.h"
#include "ops/stored.h"

namespace headroom {
namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t axis_of(std::string_view op, const Shape& data, const Attrs& attrs) {
  return normalize_axis(op, attrs.integer("axis"), data.rank());
}

TensorType gathered(std::string_view op, const TensorType& data, const TensorType& indices,
                    const Attrs& attrs) {
  if (indices.dtype != DType::i32 && indices.dtype != DType::i64)
    reject("{}: indices are int32 or int64, not {}", op, name_of(indices.dtype));
  const std::int64_t axis = axis_of(op, data.shape, attrs);
  Integers dims = data.shape.vector();
  const Integers chosen = indices.shape.vector();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, chosen.begin(), chosen.end());
  return {Shape(dims), data.dtype};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("gather", in, 2);
  return {gathered("gather", in[0], in[1], attrs)};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("gather_grad", in, 2);
  expect_float("gather_grad", in[0]);
  const TensorType data{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty("gather_grad", {data});
  expect_same("gather_grad", in[0], gathered("gather_grad", data, in[1], attrs));
  return {data};
}

// No more of the data is read than is taken.
Cost cost(const Problem& p) {
  Cost c;
  c.bytes_written = static_cast<double>(p.outputs[0].bytes());
  c.bytes_read = c.bytes_written + static_cast<double>(p.inputs[1].bytes());
  return c;
}

Cost cost_grad(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("input_shape", c.graph.value(c.input(0)).type.shape.vector());
  return {c.emit("gather_grad", {c.output_gradients[0], c.input(1)}, std::move(attrs)), kNone};
}

// Before anything is read: exceptions may not leave a team's loop.
template <class I>
void check_indices(const GatherSizes& g, const I* indices) {
  std::atomic<std::int64_t> first_bad{g.count};
  const auto most = static_cast<std::uint64_t>(g.extent);
  parallel_for(g.count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    bool bad = false;
    for (std::int64_t i = begin; i < end; ++i)
      bad |= static_cast<std::uint64_t>(std::int64_t{indices[i]}) + most >= 2 * most;
    if (!bad) return;
    while (static_cast<std::uint64_t>(std::int64_t{indices[begin]}) + most < 2 * most) ++begin;
    std::int64_t seen = first_bad.load();
    while (begin < seen && !first_bad.compare_exchange_weak(seen, begin)) {
    }
  });
  if (const std::int64_t at = first_bad.load(); at < g.count)
    throw Error(Blame::request,
                fmt::format("{}: index {} at place {} is outside an axis of {} elements", g.op,
                            std::int64_t{indices[at]}, at, g.extent),
                Hint{"indices count from 0, or from -1 backwards; is the table as large as the vocabulary?"});
}

template <class I>
std::int64_t row_of(const GatherSizes& g, I index) {
  return index < 0 ? std::int64_t{index} + g.extent : std::int64_t{index};
}

Verdict accepts(const Problem&, const Target&) { return accept(); }

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = gather_sizes(p), grad = p.op == "gather_grad"](const LaunchArgs& a) {
        const I* indices = a.in<I>(1);
        check_indices(g, indices);
        if (grad) std::fill_n(a.out<T>(0), g.outer * g.extent * g.inner, T{0});
        for (std::int64_t o = 0; o < g.outer; ++o)
          for (std::int64_t i = 0; i < g.count; ++i)
            for (std::int64_t c = 0; c < g.inner; ++c) {
              const std::int64_t there = (o * g.extent + row_of(g, indices[i])) * g.inner + c,
                                 here = (o * g.count + i) * g.inner + c;
              if (grad)
                a.out<T>(0)[there] = static_cast<T>(a.out<T>(0)[there] + a.in<T>(0)[here]);
              else
                a.out<T>(0)[here] = a.in<T>(0)[there];
            }
      };
    });
  });
}

// One copy per index, in the order of the output.
template <class T, class I>
void copy_slices(const GatherSizes& g, const T* data, const I* indices, T* out) {
  constexpr std::int64_t kWorthACall = 16;
  constexpr std::int64_t kAhead = 4;  // rows of a table lie anywhere: their beginnings are asked for early
  parallel_for(g.outer * g.count, kElementwiseGrain / g.inner + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 std::int64_t o = begin / g.count, i = begin % g.count;
                 const auto bytes = static_cast<std::size_t>(g.inner) * sizeof(T);
                 for (std::int64_t s = begin; s < end; ++s) {
                   if (i + kAhead < g.count) {
                     const auto* soon = reinterpret_cast<const char*>(
                         data + (o * g.extent + row_of(g, indices[i + kAhead])) * g.inner);
                     for (std::size_t b = 0; b < std::min<std::size_t>(bytes, 256); b += 64)
                       __builtin_prefetch(soon + b);
                   }
                   const T* from = data + (o * g.extent + row_of(g, indices[i])) * g.inner;
                   if (g.inner >= kWorthACall)
                     std::memcpy(out + s * g.inner, from, bytes);
                   else
                     for (std::int64_t c = 0; c < g.inner; ++c) out[s * g.inner + c] = from[c];
                   if (++i == g.count) {
                     i = 0;
                     ++o;
                   }
                 }
               });
}

Launcher slices(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = gather_sizes(p)](const LaunchArgs& a) {
        check_indices(g, a.in<I>(1));
        copy_slices(g, a.in<T>(0), a.in<I>(1), a.out<T>(0));
      };
    });
  });
}

struct Part {
  std::int64_t outer, outer_end, row, row_end, column, column_end;
};

// A part of dx by whoever owns it: all indices are looked at, those of other parts are passed over.
template <class T, class I>
void add_slices(const GatherSizes& g, const Part& part, const T* dy, const I* indices, T* dx) {
  const std::int64_t n = part.column_end - part.column;
  for (std::int64_t o = part.outer; o < part.outer_end; ++o) {
    T* to = dx + o * g.extent * g.inner + part.column;
    for (std::int64_t i = 0; i < g.count; ++i) {
      const std::int64_t row = row_of(g, indices[i]);
      if (row < part.row || row >= part.row_end) continue;
      const T* from = dy + (o * g.count + i) * g.inner + part.column;
      T* sum = to + row * g.inner;
#pragma omp simd
      for (std::int64_t c = 0; c < n; ++c) sum[c] += from[c];
    }
  }
}

// dx is cut among the threads where the cut costs least: between outer slices, else between columns, which
// are equally busy whatever the indices, else between rows.
Launcher owners(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = gather_sizes(p)](const LaunchArgs& a) {
        check_indices(g, a.in<I>(1));
        constexpr std::int64_t kColumns = 64;  // at least, for rows to be read in stretches
        const std::int64_t threads = omp_get_max_threads(), work = g.count * g.inner;
        fill_parallel(g.outer * g.extent * g.inner, a.out<T>(0), T{0});
        auto add = [&](const Part& part) { add_slices(g, part, a.in<T>(0), a.in<I>(1), a.out<T>(0)); };
        if (g.outer >= threads)
          parallel_for(g.outer, kElementwiseGrain / work + 1, [&](std::int64_t begin, std::int64_t end, int) {
            add({begin, end, 0, g.extent, 0, g.inner});
          });
        else if (g.inner >= kColumns * threads)
          parallel_for(g.inner, std::max(kColumns, kElementwiseGrain * g.inner / (g.outer * work)),
                       [&](std::int64_t begin, std::int64_t end, int) {
                         add({0, g.outer, 0, g.extent, begin, end});
                       });
        else
          parallel_for(g.extent, kElementwiseGrain * g.extent / (g.outer * work) + 1,
                       [&](std::int64_t begin, std::int64_t end, int) {
                         add({0, g.outer, begin, end, 0, g.inner});
                       });
      };
    });
  });
}

struct GatherCase {
  Tier tier;
  Shape data, indices;
  std::int64_t axis;
  DType dtype = DType::i32;
};

std::vector<GatherCase> gather_cases() {
  return {{Tier::ci, {1}, {1}, 0},
          {Tier::ci, {5}, Shape{}, 0},
          {Tier::ci, {10, 3}, {7}, 0, DType::i64},
          {Tier::ci, {10, 37}, {2, 5}, 0},
          {Tier::ci, {4, 9}, {6}, 1},
          {Tier::ci, {2, 5, 3}, {2, 4}, 1, DType::i64},
          {Tier::ci, {3, 4, 5}, {3, 2}, -1},
          {Tier::ci, {3, 300}, {17}, 0},
          {Tier::smoke, {1000, 65}, {40, 25}, 0},
          {Tier::smoke, {50, 512}, {300}, 0, DType::i64},
          {Tier::smoke, {3000, 5}, {20000}, 0},
          {Tier::smoke, {9, 60, 70}, {80}, 1},
          {Tier::smoke, {3, 40}, {5000}, 0},  // each named many times over
          {Tier::perf, {30000, 768}, {32, 128}, 0, DType::i64},
          {Tier::perf, {30000, 64}, {65536}, 0}};
}

// A place in the list of indices is remembered in 32 bits.
Verdict accepts_grad_cuda(const Problem& p, const Target& target) {
  if (p.inputs[1].shape.numel() > INT32_MAX) return refuse("more than 2^31 indices");
  return accepts_cuda_floats(p, target);
}

}  // namespace

GatherSizes gather_sizes(const Problem& p) {
  const bool grad = p.op == "gather_grad";
  const Shape& data = grad ? p.outputs[0].shape : p.inputs[0].shape;
  const int axis = static_cast<int>(axis_of(p.op, data, p.attrs));
  GatherSizes g{
      .op = grad ? "gather_grad" : "gather", .extent = data[axis], .count = p.inputs[1].shape.numel()};
  for (int a = 0; a < axis; ++a) g.outer *= data[a];
  for (int a = axis + 1; a < data.rank(); ++a) g.inner *= data[a];
  return g;
}

std::vector<Operator> gather_operators() {
  std::vector<Case> forward, backward;
  for (const GatherCase& c : gather_cases()) {
    const Attrs attrs{{"axis", c.axis}};
    const auto extent = double(c.data[static_cast<int>(c.axis < 0 ? c.axis + c.data.rank() : c.axis)]);
    Case forth{.tier = c.tier,
               .inputs = {c.data, c.indices},
               .attrs = attrs,
               .fills = {{}, {Fill::Kind::label, extent}},
               .dtypes = {std::nullopt, c.dtype}};
    Case back = forth;
    back.inputs[0] = gathered("gather", {c.data, DType::f32}, {c.indices, c.dtype}, attrs).shape;
    back.attrs.set("input_shape", c.data.vector());
    forward.push_back(std::move(forth));
    backward.push_back(std::move(back));
  }
  return {{.schema = {.name = "gather", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = {{.name = "cuda:slices",
                        .device = DeviceKind::cuda,
                        .accepts = accepts,
                        .prepare = HEADROOM_CUDA(prepare_gather_cuda)},
                       {.name = "cpu:slices", .accepts = accepts, .prepare = slices},
                       {.name = "reference", .accepts = accepts, .prepare = reference}},
           .cases = forward,
           .exact = true},
          {.schema = {.name = "gather_grad", .infer = infer_grad, .cost = cost_grad},
           .kernels = {{.name = "cuda:owners",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_grad_cuda,
                        .prepare = HEADROOM_CUDA(prepare_gather_grad_cuda)},
                       {.name = "cpu:owners", .prepare = owners},
                       {.name = "reference", .prepare = reference}},
           .cases = backward,
           .exact = true}};
}

}  // namespace headroom
