#include "ops/slice/slice.h"

#include <algorithm>
#include <numeric>

#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/expect.h"
#include "ops/sectors.h"
#include "ops/stored.h"

namespace headroom {
namespace slice_cc {
namespace {

using Integers = std::vector<std::int64_t>;

struct Range {
  std::int64_t start = 0, step = 1, count = 0;
};

Range range_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  step = std::clamp(step, -extent, extent);  // longer steps take one element all the same
  const bool up = step > 0;
  start = std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0, up ? extent : extent - 1);
  end = std::clamp<std::int64_t>(end < 0 ? end + extent : end, up ? 0 : -1, up ? extent : extent - 1);
  const std::int64_t span = up ? end - start : start - end;
  return {start, step, span > 0 ? (span - 1) / std::abs(step) + 1 : 0};
}

std::vector<Range> ranges_of(std::string_view op, const Shape& x, const Attrs& attrs) {
  const Integers starts = attrs.integers("starts"), ends = attrs.integers("ends");
  const Integers steps = attrs.integers("steps", Integers(starts.size(), 1));
  Integers axes(starts.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  axes = normalize_axes(op, attrs.integers("axes", axes), x.rank());
  if (ends.size() != starts.size() || steps.size() != starts.size() || axes.size() != starts.size())
    reject("{}: {} starts, {} ends, {} axes and {} steps", op, starts.size(), ends.size(), axes.size(),
           steps.size());
  std::vector<Range> ranges;
  for (std::int64_t extent : x.dims()) ranges.push_back({.count = extent});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = x[static_cast<int>(axes[i])];
    if (steps[i] == 0) reject("{}: a step of 0 along axis {}", op, axes[i]);
    Range& range = ranges[static_cast<std::size_t>(axes[i])];
    range = range_of(starts[i], ends[i], steps[i], extent);
    if (range.count == 0)
      reject("{}: the slice from {} to {} by {} along axis {} of {} is empty", op, starts[i], ends[i],
             steps[i], axes[i], x.str());
  }
  return ranges;
}

TensorType sliced(std::string_view op, const TensorType& x, const Attrs& attrs) {
  Integers dims;
  for (const Range& range : ranges_of(op, x.shape, attrs)) dims.push_back(range.count);
  return {Shape(dims), x.dtype};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("slice", in, 1);
  return {sliced("slice", in[0], attrs)};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("slice_grad", in, 1);
  const TensorType x{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty("slice_grad", {x});
  expect_same("slice_grad", in[0], sliced("slice_grad", x, attrs));
  return {x};
}

// Only what is kept need be read.
Cost cost(const Problem& p) {
  Cost c;
  c.bytes_read = c.bytes_written = static_cast<double>(p.outputs[0].bytes());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const Shape& x = c.graph.value(c.input(0)).type.shape;
  const std::vector<Range> ranges = ranges_of("slice", x, c.attrs());
  if (std::all_of(ranges.begin(), ranges.end(), [](const Range& r) { return r.step == 1; })) {
    Integers pads;
    for (const Range& r : ranges) pads.push_back(r.start);
    for (int a = 0; a < x.rank(); ++a) {
      const Range& r = ranges[static_cast<std::size_t>(a)];
      pads.push_back(x[a] - r.start - r.count);
    }
    return {c.emit("pad", {c.output_gradients[0]}, {{"pads", pads}})};
  }
  Attrs attrs = c.attrs();
  attrs.set("input_shape", x.vector());
  return {c.emit("slice_grad", {c.output_gradients[0]}, std::move(attrs))};
}

Verdict accepts(const Problem&, const Target&) { return accept(); }

// From the larger tensor to the smaller; slice_grad swaps the two sides.
struct Box {
  std::vector<StridedCopy::Axis> axes;
  std::int64_t first = 0;  // offset in the larger one
  bool backward = false;
};

Box box_of(const Problem& p) {
  Box box{.axes = {}, .backward = p.op == "slice_grad"};
  const Shape &large = box.backward ? p.outputs[0].shape : p.inputs[0].shape,
              &small = box.backward ? p.inputs[0].shape : p.outputs[0].shape;
  const auto from = dense_strides(large), to = dense_strides(small);
  const std::vector<Range> ranges = ranges_of(p.op, large, p.attrs);
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    box.axes.push_back({ranges[a].count, ranges[a].step * from[a], to[a]});
    box.first += ranges[a].start * from[a];
  }
  return box;
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [box = box_of(p), small = (p.op == "slice" ? p.outputs : p.inputs)[0].shape.numel(),
            n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      if (box.backward)
        for (std::int64_t i = 0; i < n; ++i) a.out<T>(0)[i] = T{0};
      for (std::int64_t i = 0; i < small; ++i) {
        std::int64_t at = box.first;
        for (const auto& axis : box.axes) at += i / axis.to % axis.extent * axis.from;
        if (box.backward)
          a.out<T>(0)[at] = a.in<T>(0)[i];
        else
          a.out<T>(0)[i] = a.in<T>(0)[at];
      }
    };
  });
}

Launcher boxes(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [copy = slice_copy(p), backward = p.op == "slice_grad",
            n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      if (backward) fill_parallel(n, a.out<T>(0), T{0});
      copy_strided(copy, a.in<T>(0), a.out<T>(0));
    };
  });
}

struct SliceCase {
  Tier tier;
  Shape input;
  Attrs attrs;
};

std::vector<SliceCase> slice_cases() {
  auto attrs = [](Integers starts, Integers ends, Integers axes, Integers steps) {
    return Attrs{{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
  };
  return {{Tier::ci, {1}, {{"starts", Integers{0}}, {"ends", Integers{1}}}},
          {Tier::ci, {4, 5}, {{"starts", Integers{1, 2}}, {"ends", Integers{3, 100}}}},
          {Tier::ci, {4, 5}, attrs({-2}, {INT64_MAX}, {-1}, {1})},
          {Tier::ci, {20}, attrs({1}, {19}, {0}, {3})},
          {Tier::ci, {20}, attrs({-1}, {INT64_MIN}, {0}, {-1})},
          {Tier::ci, {3, 7, 6}, attrs({5, 0}, {1, 6}, {1, 2}, {-2, 2})},
          {Tier::ci, {2, 3, 8, 9}, attrs({1, 1}, {-1, -1}, {2, 3}, {1, 1})},
          {Tier::ci, {2, 3, 8, 9}, attrs({0, 1}, {8, 9}, {2, 3}, {2, 2})},
          {Tier::smoke, {5, 40, 30, 41}, attrs({3, 1}, {37, 40}, {1, 3}, {1, 1})},
          {Tier::smoke, {5, 40, 30, 41}, attrs({0, -1}, {40, 0}, {1, 3}, {3, -2})},
          {Tier::perf, {32, 128, 56, 56}, attrs({32}, {96}, {1}, {1})},
          {Tier::perf, {32, 64, 56, 56}, attrs({0, 0}, {56, 56}, {2, 3}, {2, 2})}};
}

// A gradient is zero where nothing was cut from: all of it is written first. Rows do not end with sectors.
Work work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  if (p.op != "slice_grad") return work;
  const StridedCopy copy = slice_copy(p);
  const auto element = static_cast<std::int64_t>(size_of(p.outputs[0].dtype));
  const StridedCopy::Axis& row = copy.axes[static_cast<std::size_t>(copy.rank - 1)];
  const double rows = double(copy.numel()) / double(row.extent);
  std::int64_t step = kSectorBytes;
  for (int a = 0; a + 1 < copy.rank; ++a)
    step = std::gcd(step, copy.axes[static_cast<std::size_t>(a)].to * element);
  work.main().l2_bytes = work.bytes() + rows * touched_bytes(row.extent * element, step);
  return work;
}

}  // namespace
}  // namespace slice_cc

StridedCopy slice_copy(const Problem& problem) {
  using namespace slice_cc;
  slice_cc::Box box = box_of(problem);
  if (box.backward)
    for (auto& axis : box.axes) std::swap(axis.from, axis.to);
  return strided_copy(box.axes, box.backward ? 0 : box.first, box.backward ? box.first : 0);
}

std::vector<Operator> slice_operators() {
  using namespace slice_cc;
  const std::vector<Kernel> kernels = {{.name = "cuda:boxes",
                                        .device = DeviceKind::cuda,
                                        .accepts = accepts,
                                        .work = work_cuda,
                                        .prepare = HEADROOM_CUDA(prepare_slice_cuda)},
                                       {.name = "cpu:boxes", .accepts = accepts, .prepare = boxes},
                                       {.name = "reference", .accepts = accepts, .prepare = reference}};
  std::vector<Case> forward, backward;
  for (const SliceCase& c : slice_cases()) {
    forward.push_back({.tier = c.tier, .inputs = {c.input}, .attrs = c.attrs});
    const TensorType y = sliced("slice", {c.input, DType::f32}, c.attrs);
    backward.push_back({.tier = c.tier, .inputs = {y.shape}, .attrs = c.attrs});
    backward.back().attrs.set("input_shape", c.input.vector());
  }
  return {{.schema = {.name = "slice", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = kernels,
           .cases = forward,
           .exact = true},
          {.schema = {.name = "slice_grad", .infer = infer_grad, .cost = traffic},
           .kernels = kernels,
           .cases = backward,
           .exact = true}};
}

}  // namespace headroom
