#include "ops/pad/pad.h"

#include <algorithm>

#include "base/text.h"
#include "graph/graph.h"
#include "ops/cpu/strided_copy.h"
#include "ops/expect.h"

namespace headroom {
namespace pad_cc {
namespace {

using Integers = std::vector<std::int64_t>;

PadMode mode_of(const Attrs& attrs) {
  const std::vector<std::string> names = {"constant", "edge", "reflect"};
  const auto it = std::find(names.begin(), names.end(), attrs.text("mode", "constant"));
  if (it == names.end())
    reject(nearest(attrs.text("mode"), names), "unknown pad mode '{}'", attrs.text("mode"));
  return static_cast<PadMode>(it - names.begin());
}

Shape padded(std::string_view op, const Shape& x, const Attrs& attrs) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;  // sums of extents stay numbers
  const Integers pads = attrs.integers("pads");
  const PadMode mode = mode_of(attrs);
  if (std::ssize(pads) != 2 * x.rank())
    reject(Hint{"first the elements before each axis, then those after each"}, "{} of {} with {} pads", op,
           x.str(), pads.size());
  Shape y = x;
  for (int a = 0; a < x.rank(); ++a) {
    const std::int64_t before = pads[static_cast<std::size_t>(a)],
                       after = pads[static_cast<std::size_t>(a + x.rank())];
    for (std::int64_t pad : {before, after}) {
      if (pad > kLargest || pad < -x[a]) reject("{} of axis {} of {} by {}", op, a, x.str(), pad);
      if (mode == PadMode::reflect && pad >= x[a])
        reject(Hint{"use mode 'edge', or pads smaller than the axis"},
               "{} by reflection: {} elements are requested from axis {} of {}", op, pad, a, x.str());
    }
    y[a] = x[a] + before + after;
    if (y[a] < 1) reject("{} leaves nothing of axis {} of {}", op, a, x.str());
    // An axis cropped away entirely on one side shows padding alone; only a constant is defined there.
    if (mode != PadMode::constant && (before <= -x[a] || after <= -x[a]))
      reject("{} crops all of axis {} of {}", op, a, x.str());
  }
  return y;
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("pad", in, 1);
  expect_float("pad", in[0]);
  return {{padded("pad", in[0].shape, attrs), in[0].dtype}};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("pad_grad", in, 1);
  expect_float("pad_grad", in[0]);
  const TensorType x{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty("pad_grad", {x});
  if (mode_of(attrs) == PadMode::constant) reject("pad_grad is for modes 'edge' and 'reflect'");
  expect_same("pad_grad", in[0], {padded("pad_grad", x.shape, attrs), x.dtype});
  return {x};
}

Cost cost_grad(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

// Elements that the busiest corner adds up.
double most_copies(const Problem& p) {
  double most = 1;
  for (const PadAxis& axis : pad_problem(p).axes) {
    std::size_t longest = 0;
    for (const auto& copies : axis.copies) longest = std::max(longest, copies.size());
    most *= static_cast<double>(longest);
  }
  return most;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0];
  Attrs attrs = c.attrs();
  if (mode_of(attrs) == PadMode::constant) {
    Integers undo = attrs.integers("pads");
    for (std::int64_t& pad : undo) pad = -pad;
    return {c.emit("pad", {dy}, {{"pads", undo}})};
  }
  attrs.set("input_shape", c.graph.value(c.input(0)).type.shape.vector());
  return {c.emit("pad_grad", {dy}, std::move(attrs))};
}

// Where element i of the endless axis lies on one of n elements.
std::int64_t source_of(PadMode mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return i < 0 ? 0 : n - 1;
  return i < 0 ? -i : 2 * (n - 1) - i;
}

struct Sides {
  Shape x, y;
  Integers before;
};

Sides sides_of(const Problem& p) {
  const bool grad = p.op == "pad_grad";
  Sides s{(grad ? p.outputs : p.inputs)[0].shape, (grad ? p.inputs : p.outputs)[0].shape,
          p.attrs.integers("pads")};
  s.before.resize(static_cast<std::size_t>(s.x.rank()));
  return s;
}

// Every element of y asks where it comes from.
Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = sides_of(p), mode = mode_of(p.attrs), value = static_cast<T>(p.attrs.real("value")),
            grad = p.op == "pad_grad"](const LaunchArgs& args) {
      const auto from = dense_strides(s.x), to = dense_strides(s.y);
      T* out = args.out<T>(0);
      if (grad) std::fill_n(out, s.x.numel(), T{0});
      for (std::int64_t i = 0; i < s.y.numel(); ++i) {
        std::int64_t at = 0;
        for (int a = 0; a < s.x.rank() && at >= 0; ++a) {
          const auto k = static_cast<std::size_t>(a);
          const std::int64_t source = source_of(mode, i / to[k] % s.y[a] - s.before[k], s.x[a]);
          at = source < 0 ? -1 : at + source * from[k];
        }
        if (grad)
          out[at] += args.in<T>(0)[i];
        else
          out[i] = at < 0 ? value : args.in<T>(0)[at];
      }
    };
  });
}

PadAxis axis_of(PadMode mode, std::int64_t input, std::int64_t output, std::int64_t before) {
  PadAxis axis{.input = input, .output = output, .before = before};
  axis.copies.resize(static_cast<std::size_t>(input));
  for (std::int64_t o = 0; o < output; ++o) {
    axis.source.push_back(source_of(mode, o - before, input));
    if (axis.source.back() >= 0) axis.copies[static_cast<std::size_t>(axis.source.back())].push_back(o);
  }
  axis.inside = std::clamp<std::int64_t>(before, 0, output);
  axis.outside = std::clamp<std::int64_t>(before + input, axis.inside, output);
  return axis;
}

struct PadCase {
  Tier tier;
  Shape input;
  Integers pads;
};

std::vector<PadCase> pad_cases() {
  return {{Tier::ci, {3}, {2, 1}},
          {Tier::ci, {2, 2}, {1, 0, 0, 1}},
          {Tier::ci, {4, 5}, {-1, 2, 3, -2}},
          {Tier::ci, {6, 5}, {-2, -1, -1, -3}},
          {Tier::ci, {2, 3, 5, 7}, {0, 0, 1, 2, 0, 0, 3, 1}},
          {Tier::ci, {2, 3, 5}, {0, 2, 0, 0, 1, 0}},
          {Tier::ci, {3, 2, 4}, {2, 0, 0, 1, 0, 0}},
          {Tier::ci, {2, 3}, {0, 0, 0, 0}},
          {Tier::ci, {3, 40}, {1, 20, 1, 33}},
          {Tier::ci, {6, 8, 7, 9}, {1, 2, 3, 0, 0, 3, 2, 5}},
          {Tier::smoke, {6, 7, 28, 28}, {0, 0, 2, 2, 0, 0, 2, 2}},
          {Tier::smoke, {6, 28, 29, 7}, {0, 1, 1, 0, 0, 2, 2, 0}},
          {Tier::perf, {32, 64, 56, 56}, {0, 0, 1, 1, 0, 0, 1, 1}}};
}

}  // namespace
}  // namespace pad_cc

PadProblem pad_problem(const Problem& p) {
  using namespace pad_cc;
  const Sides s = sides_of(p);
  const Integers pads = p.attrs.integers("pads");
  PadProblem pad{.mode = mode_of(p.attrs), .value = p.attrs.real("value"), .axes = {}};
  auto touched = [&](int a) {
    return pads[static_cast<std::size_t>(a)] != 0 || pads[static_cast<std::size_t>(a + s.x.rank())] != 0;
  };
  int a = 0;
  while (a < s.x.rank()) {
    if (touched(a)) {
      pad.axes.push_back(axis_of(pad.mode, s.x[a], s.y[a], s.before[static_cast<std::size_t>(a)]));
      ++a;
      continue;
    }
    std::int64_t extent = 1;
    while (a < s.x.rank() && !touched(a)) extent *= s.x[a++];
    if (a == s.x.rank())
      pad.run = extent;
    else
      pad.axes.push_back(axis_of(pad.mode, extent, extent, 0));
  }
  if (pad.axes.empty()) pad.axes.push_back(axis_of(pad.mode, 1, 1, 0));
  for (std::size_t i = 0; i + 1 < pad.axes.size(); ++i)
    pad.rows *= p.op == "pad_grad" ? pad.axes[i].input : pad.axes[i].output;
  return pad;
}

std::vector<Operator> pad_operators() {
  using namespace pad_cc;
  std::vector<Case> forward, backward;
  for (const PadCase& c : pad_cases())
    for (const std::string mode : {"constant", "edge", "reflect"}) {
      const auto most = *std::max_element(c.pads.begin(), c.pads.end());
      const auto dims = c.input.dims();
      if (mode == "reflect" && most >= *std::min_element(dims.begin(), dims.end())) continue;
      Attrs attrs{{"pads", c.pads}, {"mode", mode}, {"value", -2.5}};
      forward.push_back({.tier = c.tier, .inputs = {c.input}, .attrs = attrs});
      if (mode == "constant") continue;
      attrs.set("input_shape", c.input.vector());
      backward.push_back({.tier = c.tier, .inputs = {padded("pad", c.input, attrs)}, .attrs = attrs});
    }
  const Kernel last{.name = "reference", .prepare = reference};
  return {{.schema = {.name = "pad", .infer = infer, .cost = traffic, .gradient = gradient},
           .kernels = {{.name = "cuda:elements",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_pad_cuda)},
                       {.name = "cpu:rows", .prepare = pad_rows},
                       last},
           .cases = forward,
           .exact = true},
          {.schema = {.name = "pad_grad", .infer = infer_grad, .cost = cost_grad},
           .kernels = {{.name = "cuda:copies",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_pad_grad_cuda)},
                       {.name = "cpu:rows", .prepare = pad_grad_rows},
                       last},
           .cases = backward,
           .exact = true,
           .sum_length = most_copies}};
}

}  // namespace headroom
