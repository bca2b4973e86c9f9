// Resizing of maps: by our operator where it has the form, else axis by axis.

#include <algorithm>
#include <cmath>

#include "models/onnx/resample.h"
#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

struct ResizeTarget {
  Ints sizes;
  std::vector<double> scales;  // empty: the ratios of the sizes
};

// By factors, for every axis or for the named ones; sizes are rounded down.
ResizeTarget by_scales(const Context& c, const Shape& x, const Ints& axes,
                       const std::vector<double>& scales) {
  if (scales.size() != axes.size())
    c.invalid(fmt::format("{} scales for {} axes", scales.size(), axes.size()));
  ResizeTarget t{x.vector(), std::vector<double>(static_cast<std::size_t>(x.rank()), 1)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    if (!(scales[i] > 0 && scales[i] < 1e6)) c.invalid(fmt::format("a scale of {}", scales[i]));
    t.scales[a] = scales[i];
    // A scale of 4/3 in fp32 is slightly off.
    const double exact = static_cast<double>(t.sizes[a]) * scales[i], whole = std::round(exact);
    t.sizes[a] =
        static_cast<std::int64_t>(std::abs(exact - whole) < 1e-6 * whole ? whole : std::floor(exact));
  }
  return t;
}

// Exactly these sizes, or the largest image inside them, or the smallest around them.
ResizeTarget by_sizes(const Context& c, const Shape& x, const Ints& axes, const Ints& sizes) {
  if (sizes.size() != axes.size()) c.invalid(fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  for (const std::int64_t size : sizes)
    if (size < 1) c.invalid(fmt::format("a size of {}", size));
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    c.invalid(fmt::format("keep_aspect_ratio_policy is '{}'", policy));
  ResizeTarget t{x.vector(), {}};
  double common = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto own = static_cast<double>(sizes[i]) / static_cast<double>(x[static_cast<int>(axes[i])]);
    common = i == 0 ? own : policy == "not_larger" ? std::min(common, own) : std::max(common, own);
    t.sizes[static_cast<std::size_t>(axes[i])] = sizes[i];
  }
  if (policy == "stretch") return t;
  t.scales.assign(static_cast<std::size_t>(x.rank()), 1);
  for (const std::int64_t axis : axes) {
    const auto a = static_cast<std::size_t>(axis);
    t.scales[a] = common;
    t.sizes[a] = static_cast<std::int64_t>(common * static_cast<double>(x[static_cast<int>(axis)]) + 0.5);
  }
  return t;
}

Ints axes_of(const Context& c, int rank) {
  Ints axes;
  for (int a = 0; a < rank; ++a) axes.push_back(a);
  return c.has("axes") ? axes_in(c, c.integers("axes"), rank) : axes;
}

ResizeTarget target_of(const Context& c, const Shape& x) {
  const Ints axes = axes_of(c, x.rank());
  if (c.op() == "Upsample") {
    if (c.opset() >= 9) return by_scales(c, x, axes, c.known_reals(1));
    if (c.has("scales")) return by_scales(c, x, axes, c.reals("scales"));
    return by_scales(c, x, {2, 3}, {c.real("height_scale"), c.real("width_scale")});
  }
  const std::size_t scales = c.opset() >= 11 ? 2 : 1;
  if (c.has_input(scales) && c.shape(scales).numel() > 0) return by_scales(c, x, axes, c.known_reals(scales));
  if (!c.has_input(3)) c.invalid("neither scales nor sizes");
  return by_sizes(c, x, axes, c.known_integers(3));
}

Resampling rule_of(const Context& c) {
  const bool old = c.op() == "Upsample" || c.opset() < 11;
  Resampling rule{.mode = c.text("mode", "nearest"),
                  .coordinates = old ? "asymmetric" : c.text("coordinate_transformation_mode", "half_pixel"),
                  .nearest_mode = old ? "floor" : c.text("nearest_mode", "round_prefer_floor"),
                  .cubic_a = c.real("cubic_coeff_a", -0.75),
                  .antialias = c.integer("antialias", 0) != 0,
                  .exclude_outside = c.integer("exclude_outside", 0) != 0};
  if (rule.mode == "bilinear") rule.mode = "linear";
  const auto one_of = [&](const char* name, const std::string& word, std::vector<std::string> known) {
    if (std::ranges::find(known, word) == known.end())
      c.invalid(fmt::format("{} '{}' is not one of {}", name, word, fmt::join(known, ", ")));
  };
  one_of("mode", rule.mode, {"nearest", "linear", "cubic"});
  one_of("coordinate_transformation_mode", rule.coordinates,
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
          "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  one_of("nearest_mode", rule.nearest_mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (rule.coordinates == "tf_half_pixel_for_nn") c.unsupported("coordinate_transformation_mode of opset 10");
  return rule;
}

// The rule of our operator for the pixels of one axis; empty if it has none.
std::string operator_coordinates(const std::string& named, std::int64_t out, bool exact) {
  if (named == "pytorch_half_pixel") return out > 1 ? "half_pixel" : "asymmetric";
  if (named == "half_pixel_symmetric" && exact) return "half_pixel";
  return named == "half_pixel" || named == "asymmetric" || named == "align_corners" ? named : "";
}

bool is_exact(const ResizeTarget& t, const Shape& in, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  const double quotient = static_cast<double>(t.sizes[a]) / static_cast<double>(in[axis]);
  return t.scales.empty() || std::abs(t.scales[a] - quotient) < 1e-6 * quotient;
}

// The attributes with which our operator does it: the last two axes, nearest or linear.
std::optional<Attrs> for_operator(const Resampling& rule, const ResizeTarget& t, const Shape& in) {
  if (in.rank() != 4 || rule.mode == "cubic" || rule.antialias || t.sizes[0] != in[0] || t.sizes[1] != in[1])
    return std::nullopt;
  Attrs attrs{{"sizes", Ints{t.sizes[2], t.sizes[3]}},
              {"mode", std::string(rule.mode == "linear" ? "bilinear" : "nearest")},
              {"nearest_mode", rule.nearest_mode}};
  std::string common;
  for (int a : {2, 3}) {
    const auto k = static_cast<std::size_t>(a);
    const bool exact = is_exact(t, in, a);
    if (in[a] == 1 && t.sizes[k] == 1) continue;  // the same pixel in both cases
    const std::string own = operator_coordinates(rule.coordinates, t.sizes[k], exact);
    if (own.empty() || (!common.empty() && own != common)) return std::nullopt;
    // Our operator and the files that we write know a scale only with a size that is rounded down.
    if (!exact && static_cast<double>(t.sizes[k]) > t.scales[k] * static_cast<double>(in[a]))
      return std::nullopt;
    common = own;
    if (!exact) attrs.set(a == 2 ? "scale_h" : "scale_w", t.scales[k]);
  }
  attrs.set("coordinates", common);
  return attrs;
}

// One axis: a gather of the nearest pixels, or a product with a matrix of weights.
Term resized(Context& c, const Term& x, int axis, const Resampling& rule, const ResizedAxis& along) {
  if (rule.mode == "nearest") {
    Ints pixels;
    for (std::int64_t o = 0; o < along.to; ++o) pixels.push_back(nearest_pixel(rule, along, o));
    return apply(c, "gather", {x, integers({along.to}, pixels)}, {{"axis", std::int64_t{axis}}});
  }
  need_small(c, along.to * along.from);
  const Shape shape = shape_of(c, x);
  std::int64_t outer = 1, inner = 1;
  for (int a = 0; a < shape.rank(); ++a)
    if (a != axis) (a < axis ? outer : inner) *= shape[a];
  const Term weights =
      constant_data({along.to, along.from}, resample_weights(rule, along), master_of(c.dtype()));
  Ints dims = shape.vector();
  dims[static_cast<std::size_t>(axis)] = along.to;
  return reshaped(c, apply(c, "matmul", {weights, reshaped(c, x, {outer, along.from, inner})}), dims);
}

// The part of the image that tf_crop_and_resize takes, as shares of its length: starts, then ends.
std::vector<double> crop_of(const Context& c, const Ints& axes, int rank) {
  std::vector<double> crop(static_cast<std::size_t>(2 * rank), 0);
  std::fill(crop.begin() + rank, crop.end(), 1);
  const std::vector<double> given_crop = c.known_reals(1);
  if (given_crop.size() != 2 * axes.size()) c.invalid(fmt::format("a roi of {} numbers", given_crop.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    crop[static_cast<std::size_t>(axes[i])] = given_crop[i];
    crop[static_cast<std::size_t>(axes[i] + rank)] = given_crop[i + axes.size()];
  }
  return crop;
}

// Axis by axis, for every form of the operator. What a crop takes from outside of the image is one number.
Term resampled(Context& c, Term x, const Resampling& rule, const ResizeTarget& t) {
  const Shape in = shape_of(c, x);
  const bool crops = rule.coordinates == "tf_crop_and_resize";
  const Ints axes = axes_of(c, in.rank());
  const std::vector<double> crop = crops ? crop_of(c, axes, in.rank()) : std::vector<double>();
  std::optional<Term> outside;
  for (const std::int64_t axis : axes) {
    const int a = static_cast<int>(axis);
    const auto k = static_cast<std::size_t>(a);
    ResizedAxis along{.from = in[a], .to = t.sizes[k], .scale = is_exact(t, in, a) ? 0 : t.scales[k]};
    if (crops) along.roi_begin = crop[k], along.roi_end = crop[k + static_cast<std::size_t>(in.rank())];
    const bool same =
        along.from == along.to && along.scale == 0 && along.roi_begin == 0 && along.roi_end == 1;
    if (same) continue;
    x = resized(c, x, a, rule, along);
    if (!crops) continue;
    std::vector<double> beyond;
    for (std::int64_t o = 0; o < along.to; ++o) {
      const double at = source_position(rule, along, o);
      beyond.push_back(at < 0 || at > static_cast<double>(along.from - 1));
    }
    Ints dims(static_cast<std::size_t>(in.rank()), 1);
    dims[k] = along.to;
    const Term here = constant_data(Shape(dims), beyond, DType::boolean);
    outside = outside ? apply(c, "logical_or", {*outside, here}) : here;
  }
  if (!outside) return x;
  return apply(c, "where", {*outside, number_like(c, x, c.real("extrapolation_value", 0)), x});
}

Results convert_resize(Context& c) {
  const Term x = input(c, 0);
  const Shape shape = shape_of(c, x);
  const Resampling rule = rule_of(c);
  if (rule.mode != "nearest") need_float(c, x);
  ResizeTarget t = target_of(c, shape);
  bool same = Shape(t.sizes) == shape && rule.coordinates != "tf_crop_and_resize";
  for (int a = 0; a < shape.rank(); ++a) same = same && is_exact(t, shape, a);
  if (same) return {x};
  if (is_float(type_of(c, x).dtype) && (shape.rank() == 3 || shape.rank() == 4)) {
    ResizeTarget image = t;  // a signal is an image of one row
    if (shape.rank() == 3) {
      image.sizes.insert(image.sizes.begin() + 2, 1);
      if (!image.scales.empty()) image.scales.insert(image.scales.begin() + 2, 1);
    }
    const Shape in = shape.rank() == 4 ? shape : Shape{shape[0], shape[1], 1, shape[2]};
    if (const std::optional<Attrs> attrs = for_operator(rule, image, in))
      return {reshaped(c, apply(c, "resize", {reshaped(c, x, in.vector())}, *attrs), t.sizes)};
  }
  return {resampled(c, x, rule, t)};
}

}  // namespace

std::vector<Conversion> resize_conversions() {
  return {{"Resize", convert_resize}, {"Upsample", convert_resize}};
}

}  // namespace headroom::onnx
