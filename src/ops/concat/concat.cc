#include "ops/concat/concat.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/cpu/strided_copy.h"
#include "ops/expect.h"
#include "ops/stored.h"

namespace headroom {
namespace concat_cc {
namespace {

using Integers = std::vector<std::int64_t>;

Integers split_sizes(const Shape& x, std::int64_t axis, const Attrs& attrs) {
  const std::int64_t extent = x[static_cast<int>(axis)];
  if (attrs.has("sizes") == attrs.has("parts"))
    reject(Hint{"sizes=[2,3] or parts=2"}, "split needs either 'sizes' or 'parts'");
  Integers sizes = attrs.integers("sizes");
  if (attrs.has("parts")) {
    const std::int64_t parts = attrs.integer("parts");
    if (parts < 1 || parts > extent) reject("split of {} elements into {} parts", extent, parts);
    const std::int64_t most = (extent + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::min(most, extent - i * most));
  }
  std::int64_t left = extent;
  for (std::int64_t size : sizes) {
    if (size < 1 || size > left)
      reject("split of axis {} of {} into [{}]", axis, x.str(), fmt::join(sizes, ","));
    left -= size;
  }
  if (left != 0 || sizes.empty())
    reject("split of axis {} of {} into [{}]", axis, x.str(), fmt::join(sizes, ","));
  return sizes;
}

std::int64_t axis_of(std::string_view op, const Attrs& attrs, const Shape& shape) {
  return normalize_axis(op, attrs.integer("axis"), shape.rank());
}

std::vector<TensorType> infer_concat(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (in.empty()) reject("concat needs at least one input");
  expect_not_empty("concat", in);
  const int axis = static_cast<int>(axis_of("concat", attrs, in[0].shape));
  TensorType out = in[0];
  out.shape[axis] = 0;
  for (const TensorType& type : in) {
    TensorType like = type;
    if (type.shape.rank() == out.shape.rank()) like.shape[axis] = in[0].shape[axis];
    expect_same(fmt::format("concat along axis {}", axis), in[0], like);
    out.shape[axis] += type.shape[axis];
  }
  return {out};
}

std::vector<TensorType> infer_split(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("split", in, 1);
  const std::int64_t axis = axis_of("split", attrs, in[0].shape);
  std::vector<TensorType> out;
  for (std::int64_t size : split_sizes(in[0].shape, axis, attrs)) {
    out.push_back(in[0]);
    out.back().shape[static_cast<int>(axis)] = size;
  }
  return out;
}

std::vector<TensorType> infer_split_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  const Integers sizes = attrs.integers("sizes"), present = attrs.integers("present");
  if (in.empty() || sizes.size() != present.size() ||
      std::count(present.begin(), present.end(), 0) + std::ssize(in) != std::ssize(sizes))
    reject("split_grad: {} gradients for sizes [{}], present [{}]", in.size(), fmt::join(sizes, ","),
           fmt::join(present, ","));
  expect_not_empty("split_grad", in);
  const int axis = static_cast<int>(axis_of("split_grad", attrs, in[0].shape));
  TensorType out = in[0];
  out.shape[axis] = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  for (std::size_t i = 0, next = 0; i < sizes.size(); ++i) {
    if (present[i] == 0) continue;
    TensorType want = in[0];
    want.shape[axis] = sizes[i];
    expect_same("split_grad", want, in[next++]);
  }
  return {out};
}

std::vector<ValueId> gradient_concat(const GradientContext& c) {
  const Shape& y = c.graph.value(c.output(0)).type.shape;
  const std::int64_t axis = axis_of("concat", c.attrs(), y);
  Integers sizes;
  for (ValueId in : c.graph.node(c.node).inputs)
    sizes.push_back(c.graph.value(in).type.shape[static_cast<int>(axis)]);
  return c.emit_all("split", {c.output_gradients[0]}, {{"axis", axis}, {"sizes", sizes}});
}

std::vector<ValueId> gradient_split(const GradientContext& c) {
  const Shape& x = c.graph.value(c.input(0)).type.shape;
  const std::int64_t axis = axis_of("split", c.attrs(), x);
  Integers present;
  std::vector<ValueId> known;
  for (ValueId dy : c.output_gradients) {
    present.push_back(dy != kNone);
    if (dy != kNone) known.push_back(dy);
  }
  if (known.size() == present.size()) return {c.emit("concat", known, {{"axis", axis}})};
  return {c.emit("split_grad", known,
                 {{"axis", axis}, {"sizes", split_sizes(x, axis, c.attrs())}, {"present", present}})};
}

Verdict accepts(const Problem&, const Target&) { return accept(); }

Verdict accepts_cuda(const Problem& p, const Target&) {
  const TensorType& whole = (p.op == "split" ? p.inputs : p.outputs)[0];
  if (whole.layout == Layout::nhwc && axis_of(p.op, p.attrs, whole.shape) != 1)
    return refuse("splits NHWC only along the channels");
  return accept();
}

// Calls body(piece, offset in the row of the whole, number of its tensor, or -1) for each piece.
template <class Body>
void each_piece(const ConcatPieces& p, Body&& body) {
  std::int64_t at = 0;
  int tensor = 0;
  for (std::size_t i = 0; i < p.lengths.size(); at += p.lengths[i++])
    body(p.lengths[i], at, p.present[i] ? tensor++ : -1);
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [pieces = concat_pieces(p), cut = p.op == "split"](const LaunchArgs& a) {
      each_piece(pieces, [&](std::int64_t length, std::int64_t at, int tensor) {
        for (std::int64_t r = 0; r < pieces.rows; ++r)
          for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t whole = r * pieces.row + at + i, part = r * length + i;
            const auto t = static_cast<std::size_t>(tensor);
            if (cut)
              a.out<T>(t)[part] = a.in<T>(0)[whole];
            else
              a.out<T>(0)[whole] = tensor < 0 ? T{0} : a.in<T>(t)[part];
          }
      });
    };
  });
}

struct PieceCopy {
  StridedCopy copy;
  int tensor;
};

// One copy of a box for each piece; boxes of zeros are copies that read the same element over and over.
Launcher boxes(const Problem& p, const LaunchContext&) {
  const ConcatPieces pieces = concat_pieces(p);
  const bool cut = p.op == "split";
  std::vector<PieceCopy> copies;
  each_piece(pieces, [&](std::int64_t length, std::int64_t at, int tensor) {
    const std::int64_t stride = tensor < 0 ? 0 : 1;
    const StridedCopy::Axis axes[] = {
        {pieces.rows, cut ? pieces.row : length * stride, cut ? length : pieces.row}, {length, stride, 1}};
    copies.push_back({strided_copy(axes, cut ? at : 0, cut ? 0 : at), tensor});
  });
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [copies, cut](const LaunchArgs& a) {
      const T zero{};
      for (const PieceCopy& piece : copies) {
        const auto t = static_cast<std::size_t>(piece.tensor);
        const T* from = cut ? a.in<T>(0) : piece.tensor < 0 ? &zero : a.in<T>(t);
        copy_strided(piece.copy, from, cut ? a.out<T>(t) : a.out<T>(0));
      }
    };
  });
}

std::vector<Case> concat_cases() {
  auto along = [](std::int64_t axis) { return Attrs{{"axis", axis}}; };
  return {{.tier = Tier::ci, .inputs = {{1}}, .attrs = along(0)},
          {.tier = Tier::ci, .inputs = std::vector<Shape>(11, Shape{2, 3}), .attrs = along(1)},
          {.tier = Tier::ci, .inputs = {{3}, {1}, {4}}, .attrs = along(0)},
          {.tier = Tier::ci, .inputs = {{2, 3}, {5, 3}}, .attrs = along(0)},
          {.tier = Tier::ci, .inputs = {{4, 1}, {4, 1}, {4, 2}}, .attrs = along(-1)},
          {.tier = Tier::ci, .inputs = {{2, 3, 5, 7}, {2, 1, 5, 7}, {2, 4, 5, 7}}, .attrs = along(1)},
          {.tier = Tier::ci, .inputs = {{2, 3, 5}, {2, 3, 37}}, .attrs = along(2)},
          {.tier = Tier::smoke, .inputs = {{40000}, {3}, {50001}}, .attrs = along(0)},
          {.tier = Tier::smoke, .inputs = {{7, 16, 28, 28}, {7, 33, 28, 28}}, .attrs = along(1)},
          {.tier = Tier::perf, .inputs = {{32, 64, 28, 28}, {32, 128, 28, 28}}, .attrs = along(1)},
          {.tier = Tier::perf, .inputs = {{4096, 512}, {4096, 512}}, .attrs = along(-1)}};
}

std::vector<Case> split_cases() {
  auto sizes = [](std::int64_t axis, Integers list) { return Attrs{{"axis", axis}, {"sizes", list}}; };
  auto parts = [](std::int64_t axis, std::int64_t n) { return Attrs{{"axis", axis}, {"parts", n}}; };
  return {{.tier = Tier::ci, .inputs = {{1}}, .attrs = parts(0, 1)},
          {.tier = Tier::ci, .inputs = {{8}}, .attrs = sizes(0, {3, 1, 4})},
          {.tier = Tier::ci, .inputs = {{7, 3}}, .attrs = parts(0, 3)},
          {.tier = Tier::ci, .inputs = {{3, 4}}, .attrs = parts(-1, 4)},
          {.tier = Tier::ci, .inputs = {{2, 8, 5, 7}}, .attrs = sizes(1, {3, 1, 4})},
          {.tier = Tier::smoke, .inputs = {{7, 49, 28, 28}}, .attrs = sizes(1, {16, 33})},
          {.tier = Tier::perf, .inputs = {{32, 192, 28, 28}}, .attrs = sizes(1, {64, 128})}};
}

std::vector<Case> split_grad_cases() {
  auto attrs = [](std::int64_t axis, Integers sizes, Integers present) {
    return Attrs{{"axis", axis}, {"sizes", sizes}, {"present", present}};
  };
  return {{.tier = Tier::ci, .inputs = {{3}}, .attrs = attrs(0, {2, 3}, {0, 1})},
          {.tier = Tier::ci, .inputs = {{4, 2}, {4, 1}}, .attrs = attrs(1, {2, 3, 1}, {1, 0, 1})},
          {.tier = Tier::smoke, .inputs = {{7, 16, 28, 28}}, .attrs = attrs(1, {16, 33}, {1, 0})}};
}

}  // namespace
}  // namespace concat_cc

ConcatPieces concat_pieces(const Problem& p) {
  using namespace concat_cc;
  const Shape& whole = p.op == "split" ? p.inputs[0].shape : p.outputs[0].shape;
  const std::int64_t axis = axis_of(p.op, p.attrs, whole);
  ConcatPieces pieces;
  const bool last = (p.op == "split" ? p.inputs : p.outputs)[0].layout == Layout::nhwc;  // the channels
  for (int a = 0; a < (last ? whole.rank() : static_cast<int>(axis)); ++a)
    if (a != axis) pieces.rows *= whole[a];
  pieces.row = whole.numel() / pieces.rows;
  const std::int64_t inner = pieces.row / whole[static_cast<int>(axis)];
  if (p.op == "split_grad") {
    for (std::int64_t size : p.attrs.integers("sizes")) pieces.lengths.push_back(size * inner);
    for (std::int64_t flag : p.attrs.integers("present")) pieces.present.push_back(flag != 0);
    return pieces;
  }
  for (const TensorType& type : p.op == "split" ? p.outputs : p.inputs)
    pieces.lengths.push_back(type.shape.numel() / pieces.rows);
  pieces.present.assign(pieces.lengths.size(), true);
  return pieces;
}

std::vector<Operator> concat_operators() {
  using namespace concat_cc;
  const std::vector<Kernel> kernels = {{.name = "cuda:pieces",
                                        .device = DeviceKind::cuda,
                                        .accepts = accepts_cuda,
                                        .prepare = HEADROOM_CUDA(prepare_concat_cuda),
                                        .layouts = Layouts::alike},
                                       {.name = "cpu:boxes", .accepts = accepts, .prepare = boxes},
                                       {.name = "reference", .accepts = accepts, .prepare = reference}};
  return {{.schema = {.name = "concat", .infer = infer_concat, .cost = traffic, .gradient = gradient_concat},
           .kernels = kernels,
           .cases = concat_cases(),
           .exact = true},
          {.schema = {.name = "split", .infer = infer_split, .cost = traffic, .gradient = gradient_split},
           .kernels = kernels,
           .cases = split_cases(),
           .exact = true},
          {.schema = {.name = "split_grad", .infer = infer_split_grad, .cost = traffic},
           .kernels = kernels,
           .cases = split_grad_cases(),
           .exact = true}};
}

}  // namespace headroom
