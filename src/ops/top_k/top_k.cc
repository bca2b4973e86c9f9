#include "ops/top_k/top_k.h"

#include <algorithm>

#include "ops/axes.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/top_k/comes_before.h"

namespace headroom {
namespace top_k_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("top_k", in, 1);
  const DType dtype = in[0].dtype;
  if (!is_float(dtype) && dtype != DType::i64 && dtype != DType::i32)
    reject(Hint{"cast it to int32"}, "top_k takes numbers, not {}", name_of(dtype));
  Shape y = in[0].shape;
  const auto axis = static_cast<int>(normalize_axis("top_k", attrs.integer("axis", -1), y.rank()));
  const std::int64_t k = attrs.integer("k");
  if (k < 1 || k > y[axis]) reject("top_k: k is {}, but the axis has {} elements", k, y[axis]);
  if (const auto flag = attrs.integer("largest", 1); flag != 0 && flag != 1)
    reject("top_k: largest is {}, not 0 or 1", flag);
  y[axis] = k;
  return {{y, dtype}, {y, DType::i64}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

template <class F>
Launcher dispatch(const Problem& p, F&& f) {
  if (is_float(p.inputs[0].dtype)) return dispatch_float(p.inputs[0].dtype, f);
  return dispatch_labels(p.inputs[0].dtype, f);
}

// Each result is the best of those that come after the one before.
Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch(p, [&]<class T>() -> Launcher {
    return [s = top_k_sizes(p)](const LaunchArgs& a) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t i = 0; i < s.inner; ++i) {
          const T* x = a.in<T>(0) + o * s.extent * s.inner + i;
          std::int64_t last = -1;
          for (std::int64_t rank = 0; rank < s.k; ++rank) {
            std::int64_t best = -1;
            for (std::int64_t e = 0; e < s.extent; ++e) {
              const bool taken = e == last || (last >= 0 && !comes_before(x[last * s.inner], last,
                                                                          x[e * s.inner], e, s.largest));
              if (taken) continue;
              if (best < 0 || comes_before(x[e * s.inner], e, x[best * s.inner], best, s.largest)) best = e;
            }
            const std::int64_t to = (o * s.k + rank) * s.inner + i;
            a.out<T>(0)[to] = x[best * s.inner];
            a.out<std::int64_t>(1)[to] = best;
            last = best;
          }
        }
    };
  });
}

// A heap of the best k so far, with the worst of them on top; then it is sorted.
template <class T>
void best_of_line(const TopKSizes& s, const T* x, std::int64_t* heap) {
  const auto before = [&](std::int64_t i, std::int64_t j) {
    return comes_before(x[i * s.inner], i, x[j * s.inner], j, s.largest);
  };
  for (std::int64_t e = 0; e < s.k; ++e) heap[e] = e;
  std::make_heap(heap, heap + s.k, before);
  for (std::int64_t e = s.k; e < s.extent; ++e) {
    if (!before(e, heap[0])) continue;
    std::pop_heap(heap, heap + s.k, before);
    heap[s.k - 1] = e;
    std::push_heap(heap, heap + s.k, before);
  }
  std::sort_heap(heap, heap + s.k, before);
}

Launcher heaps(const Problem& p, const LaunchContext&) {
  return dispatch(p, [&]<class T>() -> Launcher {
    return [s = top_k_sizes(p)](const LaunchArgs& a) {
      parallel_for(s.outer * s.inner, kElementwiseGrain / s.extent + 1,
                   [&](std::int64_t begin, std::int64_t end, int) {
                     for (std::int64_t line = begin; line < end; ++line) {
                       const std::int64_t o = line / s.inner, i = line % s.inner;
                       const T* x = a.in<T>(0) + o * s.extent * s.inner + i;
                       auto* heap = static_cast<std::int64_t*>(a.workspace) + line * s.k;
                       best_of_line(s, x, heap);
                       for (std::int64_t rank = 0; rank < s.k; ++rank) {
                         const std::int64_t to = (o * s.k + rank) * s.inner + i;
                         a.out<T>(0)[to] = x[heap[rank] * s.inner];
                         a.out<std::int64_t>(1)[to] = heap[rank];
                       }
                     }
                   });
    };
  });
}

std::size_t workspace(const Problem& p, const Target&) {
  return static_cast<std::size_t>(p.outputs[1].bytes());
}

std::vector<Case> cases() {
  struct Trial {
    Tier tier;
    Shape shape;
    std::int64_t axis, k;
    std::optional<DType> dtype = {};
  };
  std::vector<Case> list;
  for (const Trial& t : std::vector<Trial>{{Tier::ci, {1}, 0, 1},
                                           {Tier::ci, {37}, 0, 5},
                                           {Tier::ci, {6, 37}, -1, 37},
                                           {Tier::ci, {7, 5}, 0, 3},
                                           {Tier::ci, {3, 9, 4}, 1, 4},
                                           {Tier::ci, {4, 33}, 1, 6, DType::i64},
                                           {Tier::ci, {33, 4}, 0, 6, DType::i32},
                                           {Tier::smoke, {64, 1000}, 1, 10},
                                           {Tier::smoke, {2, 300, 50}, 1, 100},
                                           {Tier::perf, {128, 32000}, 1, 50},
                                           {Tier::perf, {1, 100000}, 1, 1000}})
    for (std::int64_t largest : {0, 1}) {
      Case c{.tier = t.tier,
             .inputs = {t.shape},
             .attrs = {{"axis", t.axis}, {"k", t.k}, {"largest", largest}},
             .dtypes = {t.dtype}};
      list.push_back(c);
      c.fills = {{Fill::Kind::digit, 5}};  // ties
      list.push_back(c);
      if (t.dtype) list.erase(list.end() - 2);
    }
  return list;
}

}  // namespace
}  // namespace top_k_cc

TopKSizes top_k_sizes(const Problem& p) {
  const Shape& x = p.inputs[0].shape;
  const std::int64_t axis = normalize_axis(p.op, p.attrs.integer("axis", -1), x.rank());
  TopKSizes s{.extent = x[static_cast<int>(axis)],
              .k = p.attrs.integer("k"),
              .largest = p.attrs.integer("largest", 1) == 1};
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis) (d < axis ? s.outer : s.inner) *= x[d];
  return s;
}

std::vector<Operator> top_k_operators() {
  using namespace top_k_cc;
  return {{.schema = {.name = "top_k", .infer = infer, .cost = cost},
           .kernels = {{.name = "cuda:search",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_top_k_cuda)},
                       {.name = "cpu:heaps", .prepare = heaps, .workspace = workspace},
                       {.name = "reference", .prepare = reference}},
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom
