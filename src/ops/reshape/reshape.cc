#include "ops/reshape/reshape.h"

#include <cstring>

#include "graph/graph.h"
#include "ops/expect.h"

namespace headroom {
namespace {

using Integers = std::vector<std::int64_t>;

Shape resolve(const Shape& from, const Integers& wanted) {
  Shape shape(wanted);
  std::int64_t known = 1;
  int open = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1 && open < 0) {
      open = axis;
    } else if (shape[axis] < 1) {
      reject(Hint{"extents are positive; one of them may be -1"}, "reshape of {} to [{}]", from.str(),
             fmt::join(wanted, ","));
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

Cost cost(const Problem&) { return {}; }

std::vector<ValueId> gradient(const GradientContext& c) {
  return {
      c.emit("reshape", {c.output_gradients[0]}, {{"shape", c.graph.value(c.input(0)).type.shape.vector()}})};
}

Verdict accepts(const Problem&, const Capabilities&) { return accept(); }

Launcher copy(const Problem& p, const Capabilities&) {
  return [bytes = static_cast<std::size_t>(p.inputs[0].bytes())](const LaunchArgs& a) {
    std::memcpy(a.outputs[0], a.inputs[0], bytes);
  };
}

}  // namespace

std::vector<Operator> reshape_operators() {
  return {{.schema = {.name = "reshape", .infer = infer, .cost = cost, .gradient = gradient, .is_view = true},
           .kernels = {{.name = "reference", .accepts = accepts, .prepare = copy}},
           .cases = {{.tier = Tier::ci, .inputs = {{2, 3, 4}}, .attrs = {{"shape", Integers{2, 12}}}},
                     {.tier = Tier::ci, .inputs = {{2, 16, 5, 5}}, .attrs = {{"shape", Integers{2, -1}}}},
                     {.tier = Tier::ci, .inputs = {{6}}, .attrs = {{"shape", Integers{3, 1, 2}}}}},
           .exact = true}};
}

}  // namespace headroom
