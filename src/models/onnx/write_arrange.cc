// Changes of shape, not of values.
#include <cmath>
#include <limits>

#include "models/onnx/write_node.h"

namespace headroom::onnx {
namespace {

// Also for flatten, squeeze and unsqueeze: the same elements with other extents.
void reshape(NodeWriter& n) { n.result("Reshape", {n.input(0), n.integers(n.reshaped())}); }

void transpose(NodeWriter& n) {
  Ints perm = n.attrs().integers("perm");
  if (!n.attrs().has("perm"))
    for (int a = n.type(0).shape.rank(); a-- > 0;) perm.push_back(a);
  n.result("Transpose", {n.input(0)}, {{"perm", perm}});
}

void concat(NodeWriter& n) { n.result("Concat", n.all_inputs(), {{"axis", n.attrs().integer("axis")}}); }

void split(NodeWriter& n) {
  const std::int64_t axis = n.attrs().integer("axis");
  const int at = static_cast<int>(axis < 0 ? axis + n.type(0).shape.rank() : axis);
  if (n.follows_batch(0, at)) n.refuse_batch("it splits the batch");
  Ints sizes;
  for (const TensorType& piece : n.problem().outputs) sizes.push_back(piece.shape[at]);
  n.results("Split", {n.input(0), n.integers(sizes)}, {{"axis", axis}}, sizes.size());
}

// An end equal to the extent, for any batch, is written as ONNX's "to the end".
void slice(NodeWriter& n) {
  const Ints starts = n.fixed("starts");
  Ints axes, ends = n.attrs().integers("ends");
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  axes = n.fixed("axes", axes);
  const Ints there = n.other().attrs.integers("ends");
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == there.at(i)) continue;
    const int rank = n.type(0).shape.rank();
    const int axis = static_cast<int>(axes.at(i) < 0 ? axes.at(i) + rank : axes.at(i));
    if (ends[i] < n.type(0).shape[axis] || there[i] < n.other_input(0)[axis])
      n.refuse_batch("its ends follow the batch");
    ends[i] = std::numeric_limits<std::int64_t>::max();
  }
  const Ints steps = n.fixed("steps", Ints(starts.size(), 1));
  n.result("Slice", {n.input(0), n.integers(starts), n.integers(ends), n.integers(axes), n.integers(steps)});
}

void pad(NodeWriter& n) {
  Names in = {n.input(0), n.integers(n.fixed("pads"))};
  if (n.attrs().has("value")) in.push_back(n.real(n.attrs().real("value"), 0));
  n.result("Pad", in, {{"mode", n.attrs().text("mode", "constant")}});
}

// An fp32 number at the ratio that gives this size: readers multiply in fp32 and round down.
double scale_of(std::int64_t from, std::int64_t to) {
  auto scale = static_cast<float>(static_cast<double>(to) / static_cast<double>(from));
  while (std::floor(static_cast<float>(from) * scale) < static_cast<float>(to))
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  return double{scale};
}

// Only the sizes of the last two axes: the batch is free.
void resize(NodeWriter& n) {
  const bool nearest = n.attrs().text("mode", "nearest") == "nearest";
  Attrs attributes{{"mode", std::string(nearest ? "nearest" : "linear")},
                   {"axes", Ints{2, 3}},
                   {"coordinate_transformation_mode", n.attrs().text("coordinates", "half_pixel")}};
  if (nearest) attributes.set("nearest_mode", n.attrs().text("nearest_mode", "round_prefer_floor"));
  // A size that was rounded down: the scale is more precise.
  const double rows = n.attrs().real("scale_h"), columns = n.attrs().real("scale_w");
  const Shape &x = n.type(0).shape, &y = n.problem().outputs[0].shape;
  if (rows > 0 || columns > 0)
    return n.result("Resize",
                    {n.input(0), "",
                     n.reals({2}, {rows > 0 ? rows : scale_of(x[2], y[2]),
                                   columns > 0 ? columns : scale_of(x[3], y[3])})},
                    attributes);
  n.result("Resize", {n.input(0), "", "", n.integers(n.fixed("sizes"))}, attributes);
}

void gather(NodeWriter& n) { n.result("Gather", n.all_inputs(), {{"axis", n.attrs().integer("axis")}}); }

// Each place is an index of one number.
void scatter(NodeWriter& n) {
  const std::string places =
      n.type(1).dtype == DType::i64
          ? n.input(1)
          : n.part("Cast", {n.input(1)}, {{"to", std::int64_t{onnx_type(DType::i64)}}});
  const std::string indices = n.part("Reshape", {places, n.integers({-1, 1})});
  n.result("ScatterND", {n.input(0), indices, n.input(2)},
           {{"reduction", n.attrs().text("reduction", "none")}});
}

// All results: the values and where they stand.
void top_k(NodeWriter& n) {
  const std::int64_t axis = n.attrs().integer("axis", -1), k = n.attrs().integer("k");
  n.results("TopK", {n.input(0), n.integers({k})},
            {{"axis", axis}, {"largest", n.attrs().integer("largest", 1)}}, 2);
}

void roi_align(NodeWriter& n) {
  const Ints output = n.fixed("output");
  n.result("RoiAlign", n.all_inputs(),
           {{"output_height", output[0]},
            {"output_width", output[1]},
            {"sampling_ratio", n.attrs().integer("sampling_ratio")},
            {"spatial_scale", n.attrs().real("spatial_scale", 1)},
            {"mode", n.attrs().text("mode", "avg")},
            {"coordinate_transformation_mode",
             std::string(n.attrs().integer("half_pixel", 1) == 1 ? "half_pixel" : "output_half_pixel")}});
}

void grid_sample(NodeWriter& n) {
  n.result("GridSample", n.all_inputs(),
           {{"mode", n.attrs().text("mode", "linear")},
            {"padding_mode", n.attrs().text("padding", "zeros")},
            {"align_corners", n.attrs().integer("align_corners")}});
}

// If the result follows the batch and the input has that extent, 1 means unchanged. Otherwise the batch is
// read from an input of the network.
void expand(NodeWriter& n) {
  const Shape &from = n.type(0).shape, &to = n.problem().outputs[0].shape;
  Ints dims = to.vector();
  int stretched = kNone;
  for (int a = 0; a < to.rank(); ++a) {
    if (!n.output_follows_batch(a)) continue;
    const int axis = a - (to.rank() - from.rank());
    const bool kept = axis >= 0 && from[axis] == to[a] && n.follows_batch(0, axis);
    if (!kept && (stretched != kNone || !n.is_batch(a)))
      n.refuse_batch("it stretches something to a multiple of the batch");
    dims[static_cast<std::size_t>(a)] = 1;
    if (!kept) stretched = a;
  }
  const double scale = n.attrs().real("scale", 1);
  const std::string x = scale == 1 ? n.input(0) : n.part("Mul", {n.input(0), n.real(scale, 0)});
  if (stretched == kNone) return n.result("Expand", {x, n.integers(dims)});
  const auto at = dims.begin() + stretched;
  Names extents;
  if (at != dims.begin()) extents.push_back(n.integers({dims.begin(), at}));
  extents.push_back(n.batch());
  if (at + 1 != dims.end()) extents.push_back(n.integers({at + 1, dims.end()}));
  n.result("Expand", {x, n.part("Concat", extents, {{"axis", std::int64_t{0}}})});
}

}  // namespace

std::vector<Writing> arrange_writings() {
  return {{"reshape", reshape},
          {"flatten", reshape},
          {"squeeze", reshape},
          {"unsqueeze", reshape},
          {"transpose", transpose},
          {"concat", concat},
          {"split", split},
          {"slice", slice},
          {"pad", pad},
          {"resize", resize},
          {"gather", gather},
          {"expand", expand},
          {"scatter", scatter},
          {"top_k", top_k},
          {"roi_align", roi_align},
          {"grid_sample", grid_sample}};
}

}  // namespace headroom::onnx
