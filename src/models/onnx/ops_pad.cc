// Elements added around a tensor, or cut off.

#include <algorithm>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// Other types go through fp64, which holds every integer a network uses for counting.
Term padded(Context& c, const Term& x, const Attrs& attrs) {
  const DType dtype = type_of(c, x).dtype;
  if (is_float(dtype)) return apply(c, "pad", {x}, attrs);
  return cast_to(c, apply(c, "pad", {cast_to(c, x, DType::f64)}, attrs), dtype);
}

// The tensor repeated without end, after negative amounts have cut it.
Term wrapped_around(Context& c, const Term& x, const Ints& pads) {
  const int rank = shape_of(c, x).rank();
  Term y = x;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t before = pads[static_cast<std::size_t>(axis)],
                       after = pads[static_cast<std::size_t>(axis + rank)];
    if (before == 0 && after == 0) continue;
    const std::int64_t first = std::max<std::int64_t>(0, -before),
                       extent = shape_of(c, y)[axis] - first + std::min<std::int64_t>(0, after);
    if (extent < 1) c.unsupported("a result without elements");
    Ints from;
    for (std::int64_t i = -std::max<std::int64_t>(0, before); i < extent + std::max<std::int64_t>(0, after);
         ++i)
      from.push_back(first + ((i % extent) + extent) % extent);
    const auto count = static_cast<std::int64_t>(from.size());
    y = apply(c, "gather", {y, integers({count}, from)}, {{"axis", std::int64_t{axis}}});
  }
  return y;
}

// Elements before and after each axis, in the form of any opset.
Ints pad_amounts(const Context& c, int rank) {
  if (c.opset() < 11) return c.integers(c.opset() < 2 ? "paddings" : "pads");
  const Ints given_pads = c.known_integers(1);
  if (!c.has_input(3)) return given_pads;
  const Ints axes = axes_in(c, c.known_integers(3), rank);
  if (given_pads.size() != 2 * axes.size()) c.invalid("pads and axes differ in number");
  Ints pads(2 * static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    pads[static_cast<std::size_t>(axes[i])] = given_pads[i];
    pads[static_cast<std::size_t>(axes[i] + rank)] = given_pads[i + axes.size()];
  }
  return pads;
}

Results convert_pad(Context& c) {
  const Term x = input(c, 0);
  const Shape shape = shape_of(c, x);
  const Ints pads = pad_amounts(c, shape.rank());
  const std::string mode = c.text("mode", "constant");
  if (static_cast<int>(pads.size()) != 2 * shape.rank()) c.invalid("pads does not name every axis");
  if (mode == "wrap") return {wrapped_around(c, x, pads)};
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; })) return {x};
  Attrs attrs{{"pads", pads}, {"mode", mode}};
  if (mode == "constant") {
    const double value = c.opset() < 11 ? c.real("value", 0) : c.has_input(2) ? c.known_real(2) : 0;
    if (value != 0) attrs.set("value", value);
  }
  return {padded(c, x, attrs)};
}

// The middle of each axis, or zeros on both sides. Odd rests are at the end.
Results convert_center_crop_pad(Context& c) {
  c.require_inputs(2, 2);
  Term y = input(c, 0);
  const int rank = shape_of(c, y).rank();
  Ints axes = c.integers("axes", {});
  const Ints wanted = c.known_integers(1);
  if (!c.has("axes"))
    for (int a = 0; a < rank; ++a) axes.push_back(a);
  axes = axes_in(c, axes, rank);
  if (wanted.size() != axes.size()) c.invalid("shape and axes differ in number");
  Ints pads(2 * static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::int64_t extent = shape_of(c, y)[static_cast<int>(axis)], more = wanted[i] - extent;
    if (wanted[i] < 1) c.unsupported("a result without elements");
    if (more < 0) y = sliced(c, y, axes[i], -more / 2, -more / 2 + wanted[i]);
    if (more > 0) pads[axis] = more / 2, pads[axis + static_cast<std::size_t>(rank)] = more - more / 2;
  }
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return {y};
  return {padded(c, y, {{"pads", pads}, {"mode", std::string("constant")}})};
}

}  // namespace

std::vector<Conversion> pad_conversions() {
  return {{"Pad", convert_pad}, {"CenterCropPad", convert_center_crop_pad}};
}

}  // namespace headroom::onnx
