// The operators at the end of detectors.

#include <limits>

#include "models/onnx/counted.h"

namespace headroom::onnx {
namespace {

// An input of one number; a constant if it is absent.
Term number_or(Context& c, std::size_t i, const Term& fallback) {
  if (!c.has_input(i)) return fallback;
  if (c.shape(i).numel() != 1)
    c.invalid(fmt::format("its input {} is {}, not one number", i, c.shape(i).str()));
  return input(c, i);
}

// The plan needs a bound of the boxes of one image and class: the limit that the file gives, else all.
Results convert_nms(Context& c) {
  c.require_inputs(2, 5);
  const Term boxes = input(c, 0), scores = input(c, 1);
  const Shape b = shape_of(c, boxes), s = shape_of(c, scores);
  if (b.rank() != 3 || s.rank() != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2])
    c.invalid(fmt::format("boxes {} and scores {}; they must be [N, B, 4] and [N, C, B]", b.str(), s.str()));
  if (c.is_known(3) && !(c.known_real(3) >= 0 && c.known_real(3) <= 1))
    c.invalid(fmt::format("iou_threshold is {}, but must be between 0 and 1", c.known_real(3)));
  const Term most = number_or(c, 2, integers({}, {0}));
  std::int64_t bound = b[1];
  if (most.known) bound = std::min(bound, most.known->integer(0));
  if (bound < 1) c.unsupported("it selects nothing: max_output_boxes_per_class is 0");
  const std::int64_t center = c.integer("center_point_box", 0);
  if (center != 0 && center != 1) c.invalid(fmt::format("center_point_box is {}", center));
  const std::vector<Term> found =
      apply_all(c, "non_max_suppression",
                {boxes, scores, cast_to(c, most, DType::i64), floats(c, number_or(c, 3, number(c, 0))),
                 floats(c, number_or(c, 4, number(c, -std::numeric_limits<double>::infinity())))},
                {{"bound", bound}, {"center_point_box", center}});
  return {counted_by(c, found[0], 0, found[1])};
}

Results convert_roi_align(Context& c) {
  c.require_inputs(3, 3);
  need_float(c, input(c, 0));
  const std::string mode = c.text("mode", "avg");
  if (mode != "avg" && mode != "max") c.invalid(fmt::format("mode '{}' is not avg or max", mode));
  const std::string rule =
      c.opset() < 16 ? "output_half_pixel" : c.text("coordinate_transformation_mode", "half_pixel");
  if (rule != "half_pixel" && rule != "output_half_pixel")
    c.invalid(
        fmt::format("coordinate_transformation_mode '{}' is not half_pixel or output_half_pixel", rule));
  return {apply(c, "roi_align", {input(c, 0), input(c, 1), input(c, 2)},
                {{"output", Ints{c.integer("output_height", 1), c.integer("output_width", 1)}},
                 {"sampling_ratio", c.integer("sampling_ratio", 0)},
                 {"spatial_scale", c.real("spatial_scale", 1)},
                 {"mode", mode},
                 {"half_pixel", std::int64_t{rule == "half_pixel" ? 1 : 0}}})};
}

Results convert_grid_sample(Context& c) {
  c.require_inputs(2, 2);
  const Term x = input(c, 0);
  need_float(c, x);
  std::string mode = c.text("mode", c.opset() < 20 ? "bilinear" : "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    c.invalid(fmt::format("mode '{}' is not one of linear, nearest, cubic", mode));
  const std::string padding = c.text("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    c.invalid(fmt::format("padding_mode '{}' is not one of zeros, border, reflection", padding));
  const int axes = shape_of(c, x).rank() - 2;
  if (axes < 2 || axes > 3 || (axes == 3 && mode == "cubic"))
    c.unsupported(fmt::format("mode '{}' over {} axes", mode, axes));
  return {apply(c, "grid_sample", {x, input(c, 1)},
                {{"mode", mode}, {"padding", padding}, {"align_corners", c.integer("align_corners", 0)}})};
}

}  // namespace

std::vector<Conversion> detection_conversions() {
  return {{"NonMaxSuppression", convert_nms},
          {"RoiAlign", convert_roi_align},
          {"GridSample", convert_grid_sample}};
}

}  // namespace headroom::onnx
