#include "ops/reshape/reshape.h"

#include <algorithm>
#include <cstring>

#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/expect.h"

namespace headroom {
namespace reshape_cc {
namespace {

using Integers = std::vector<std::int64_t>;

Shape resolve(const Shape& from, const Integers& wanted) {
  Shape shape(wanted);
  std::int64_t known = 1;
  int open = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0 && axis < from.rank()) shape[axis] = from[axis];
    if (shape[axis] == -1 && open < 0) {
      open = axis;
    } else if (shape[axis] < 1) {
      reject(Hint{"extents are positive; 0 keeps that axis of the input, and one of them may be -1"},
             "reshape of {} to [{}]", from.str(), fmt::join(wanted, ","));
    } else if (__builtin_mul_overflow(known, shape[axis], &known)) {
      reject("reshape of {} to [{}], which is too large", from.str(), fmt::join(wanted, ","));
    }
  }
  if (open >= 0 && from.numel() % known == 0) shape[open] = from.numel() / known;
  if (open >= 0 ? from.numel() % known != 0 : known != from.numel())
    reject("reshape of {}, {} elements, to [{}]", from.str(), from.numel(), fmt::join(wanted, ","));
  return shape;
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("reshape", in, 1);
  if (!attrs.has("shape")) reject("reshape needs 'shape'");
  return {{resolve(in[0].shape, attrs.integers("shape")), in[0].dtype}};
}

std::vector<TensorType> infer_flatten(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("flatten", in, 1);
  const Shape& x = in[0].shape;
  // The axis may also lie behind the last one: all before it, and a column of 1.
  const std::int64_t wanted = attrs.integer("axis", 1);
  const std::int64_t axis = wanted == x.rank() ? wanted : normalize_axis("flatten", wanted, x.rank());
  std::int64_t rows = 1;
  for (int a = 0; a < axis; ++a) rows *= x[a];
  return {{{rows, x.numel() / rows}, in[0].dtype}};
}

std::vector<TensorType> infer_squeeze(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("squeeze", in, 1);
  const Shape& x = in[0].shape;
  const Integers axes = normalize_axes("squeeze", attrs.integers("axes"), x.rank());
  Integers dims;
  for (int a = 0; a < x.rank(); ++a) {
    const bool named = std::count(axes.begin(), axes.end(), a) > 0;
    if (named && x[a] != 1) reject("squeeze of axis {} of {}, which is not 1", a, x.str());
    if (attrs.has("axes") ? !named : x[a] != 1) dims.push_back(x[a]);
  }
  return {{Shape(dims), in[0].dtype}};
}

std::vector<TensorType> infer_unsqueeze(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("unsqueeze", in, 1);
  const Shape& x = in[0].shape;
  const Integers named = attrs.integers("axes");
  if (named.empty()) reject("unsqueeze needs 'axes'");
  const int rank = x.rank() + static_cast<int>(named.size());
  const Integers axes = normalize_axes("unsqueeze", named, rank);
  Integers dims;
  for (int a = 0, next = 0; a < rank; ++a)
    dims.push_back(std::count(axes.begin(), axes.end(), a) > 0 ? 1 : x[next++]);
  return {{Shape(dims), in[0].dtype}};
}

Cost cost(const Problem&) { return {}; }

std::vector<ValueId> gradient(const GradientContext& c) {
  return {
      c.emit("reshape", {c.output_gradients[0]}, {{"shape", c.graph.value(c.input(0)).type.shape.vector()}})};
}

Verdict accepts(const Problem&, const Target&) { return accept(); }

Launcher copy(const Problem& p, const LaunchContext&) {
  return [bytes = static_cast<std::size_t>(p.inputs[0].bytes())](const LaunchArgs& a) {
    std::memcpy(a.outputs[0], a.inputs[0], bytes);
  };
}

}  // namespace
}  // namespace reshape_cc

std::vector<Operator> reshape_operators() {
  using namespace reshape_cc;
  auto view = [](std::string name, auto shape_of, std::vector<Case> cases) {
    return Operator{.schema = {.name = std::move(name),
                               .infer = shape_of,
                               .cost = cost,
                               .gradient = gradient,
                               .is_view = true},
                    .kernels = {{.name = "reference", .accepts = accepts, .prepare = copy}},
                    .cases = std::move(cases),
                    .exact = true};
  };
  auto on = [](Shape shape, Attrs attrs = {}) {
    return Case{.tier = Tier::ci, .inputs = {shape}, .attrs = std::move(attrs)};
  };
  return {view("reshape", infer,
               {on({2, 3, 4}, {{"shape", Integers{2, 12}}}), on({2, 16, 5, 5}, {{"shape", Integers{0, -1}}}),
                on({6}, {{"shape", Integers{3, 1, 2}}})}),
          view("flatten", infer_flatten,
               {on({2, 3, 4}), on({2, 3, 4}, {{"axis", std::int64_t{0}}}),
                on({2, 3, 4}, {{"axis", std::int64_t{-1}}})}),
          view("squeeze", infer_squeeze, {on({1, 3, 1, 2}), on({1, 3, 1, 2}, {{"axes", Integers{-2}}})}),
          view("unsqueeze", infer_unsqueeze, {on({3, 2}, {{"axes", Integers{0, -1}}})})};
}

}  // namespace headroom
