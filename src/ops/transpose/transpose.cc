#include "ops/transpose/transpose.h"

#include <numeric>

#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/expect.h"
#include "ops/sectors.h"
#include "ops/stored.h"

namespace headroom {
namespace transpose_cc {
namespace {

using Integers = std::vector<std::int64_t>;

Integers permutation(const Shape& shape, const Attrs& attrs) {
  if (!attrs.has("perm")) {
    Integers reversed(static_cast<std::size_t>(shape.rank()));
    std::iota(reversed.rbegin(), reversed.rend(), std::int64_t{0});
    return reversed;
  }
  const Integers perm = attrs.integers("perm");
  if (static_cast<int>(perm.size()) != shape.rank())
    reject("transpose of {} with {} axes in perm [{}]", shape.str(), perm.size(), fmt::join(perm, ","));
  return normalize_axes("transpose", perm, shape.rank());
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("transpose", in, 1);
  Integers dims;
  for (std::int64_t axis : permutation(in[0].shape, attrs))
    dims.push_back(in[0].shape[static_cast<int>(axis)]);
  return {{Shape(dims), in[0].dtype}};
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const Integers perm = permutation(c.graph.value(c.input(0)).type.shape, c.attrs());
  Integers inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return {c.emit("transpose", {c.output_gradients[0]}, {{"perm", inverse}})};
}

Verdict accepts(const Problem&, const Target&) { return accept(); }

std::vector<StridedCopy::Axis> axes_of(const Problem& p) {
  const Shape& x = p.inputs[0].shape;
  const Integers perm = permutation(x, p.attrs);
  const auto from = dense_strides(x), to = dense_strides(p.outputs[0].shape);
  std::vector<StridedCopy::Axis> axes;
  for (std::size_t i = 0; i < perm.size(); ++i)
    axes.push_back({x[static_cast<int>(perm[i])], from[static_cast<std::size_t>(perm[i])], to[i]});
  return axes;
}

// Every output asks where it comes from.
Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [axes = axes_of(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      for (std::int64_t out = 0; out < n; ++out) {
        std::int64_t in = 0;
        for (const auto& axis : axes) in += out / axis.to % axis.extent * axis.from;
        a.out<T>(0)[out] = a.in<T>(0)[in];
      }
    };
  });
}

Launcher tiles(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [copy = transpose_copy(p)](const LaunchArgs& a) { copy_strided(copy, a.in<T>(0), a.out<T>(0)); };
  });
}

std::vector<Case> cases() {
  struct Try {
    Tier tier;
    Shape shape;
    Integers perm;
  };
  std::vector<Case> list = {{.tier = Tier::ci, .inputs = {Shape{}}},
                            {.tier = Tier::ci, .inputs = {{5}}},
                            {.tier = Tier::ci, .inputs = {{4, 7}}},
                            {.tier = Tier::ci, .inputs = {{2, 3, 4}}}};
  for (const Try& t : std::vector<Try>{{Tier::ci, {1, 1}, {1, 0}},
                                       {Tier::ci, {3, 5}, {0, 1}},
                                       {Tier::ci, {33, 65}, {1, 0}},
                                       {Tier::ci, {32, 64}, {-1, -2}},
                                       {Tier::ci, {2, 3, 5, 7}, {0, 2, 3, 1}},
                                       {Tier::ci, {2, 5, 7, 3}, {0, 3, 1, 2}},
                                       {Tier::ci, {2, 5, 3, 9}, {0, 2, 1, 3}},
                                       {Tier::ci, {3, 4, 5, 2}, {3, 1, 0, 2}},
                                       {Tier::ci, {3, 1, 5, 2}, {2, 1, 3, 0}},
                                       {Tier::ci, {2, 2, 3, 2, 3, 2}, {5, 1, 3, 0, 4, 2}},
                                       {Tier::smoke, {70, 3, 131}, {2, 0, 1}},
                                       {Tier::smoke, {5, 67, 23, 29}, {0, 2, 3, 1}},
                                       {Tier::smoke, {9, 40, 6, 33}, {0, 2, 1, 3}},
                                       {Tier::smoke, {300, 517}, {1, 0}},
                                       {Tier::smoke, {4, 33, 35, 3}, {0, 3, 1, 2}},
                                       {Tier::smoke, {3, 40, 37, 5}, {2, 3, 0, 1}},
                                       {Tier::perf, {2048, 2048}, {1, 0}},
                                       {Tier::perf, {32, 64, 56, 56}, {0, 2, 3, 1}},
                                       {Tier::perf, {32, 56, 56, 64}, {0, 3, 1, 2}},
                                       {Tier::perf, {32, 3, 224, 224}, {0, 2, 3, 1}},
                                       {Tier::perf, {16, 128, 12, 64}, {0, 2, 1, 3}}})
    list.push_back({.tier = t.tier, .inputs = {t.shape}, .attrs = {{"perm", t.perm}}});
  return list;
}

// Tiles of 32 x 32 elements where the axes that are contiguous differ: their lines do not fit sectors.
Work work_cuda(const Problem& p, const Target& target) {
  constexpr std::int64_t kTile = 32, kShort = 16;
  Work work = least_work(p, target);
  const StridedCopy copy = transpose_copy(p);
  const auto element = static_cast<std::int64_t>(size_of(p.outputs[0].dtype));
  std::int64_t along = 0, from_step = kSectorBytes, to_step = kSectorBytes;
  const StridedCopy::Axis& last = copy.axes[static_cast<std::size_t>(copy.rank - 1)];
  for (int a = 0; a < copy.rank; ++a) {
    const StridedCopy::Axis& axis = copy.axes[static_cast<std::size_t>(a)];
    if (axis.from == 1) along = axis.extent;
    if (axis.from != 1) from_step = std::gcd(from_step, axis.from * element);
    if (axis.to != 1) to_step = std::gcd(to_step, axis.to * element);
  }
  if (last.from == 1 || last.extent < kShort || along < kShort) return work;
  const double n = double(copy.numel());
  work.main().l2_bytes = n / double(along) * chunked_bytes(along, kTile, element, from_step) +
                         n / double(last.extent) * chunked_bytes(last.extent, kTile, element, to_step);
  return work;
}

}  // namespace
}  // namespace transpose_cc

StridedCopy transpose_copy(const Problem& problem) {
  using namespace transpose_cc;
  return strided_copy(axes_of(problem));
}

std::vector<Operator> transpose_operators() {
  using namespace transpose_cc;
  return {{.schema = {.name = "transpose", .infer = infer, .cost = traffic, .gradient = gradient},
           .kernels = {{.name = "cuda:tiles",
                        .device = DeviceKind::cuda,
                        .accepts = accepts,
                        .work = work_cuda,
                        .prepare = HEADROOM_CUDA(prepare_transpose_cuda)},
                       {.name = "cpu:tiles", .accepts = accepts, .prepare = tiles},
                       {.name = "reference", .accepts = accepts, .prepare = reference}},
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom
