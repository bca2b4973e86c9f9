// Sliding windows over maps, and resizing of maps.

#include <algorithm>
#include <cmath>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// Our windows have two axes: a signal is an image of one row.
Term as_image(Context& c, const Term& x) {
  const Shape s = shape_of(c, x);
  if (s.rank() == 4) return x;
  if (s.rank() != 3)
    c.unsupported(fmt::format("windows over {}: only one and two axes are supported", s.str()));
  return reshaped(c, x, {s[0], s[1], 1, s[2]});
}

Term as_signal(Context& c, const Term& y, int rank) {
  const Shape s = shape_of(c, y);
  return rank == 4 ? y : reshaped(c, y, {s[0], s[1], s[3]});
}

// An attribute with one entry per window axis, for two axes: one more before a single one; of three the first
// two.
Ints of_both(const Context& c, std::string_view name, int axes, std::int64_t fallback) {
  Ints list = c.integers(name, Ints(static_cast<std::size_t>(axes), fallback));
  if (static_cast<int>(list.size()) != axes) c.invalid(fmt::format("{} has {} entries", name, list.size()));
  if (axes == 1) list.insert(list.begin(), fallback);
  if (axes == 3) list.pop_back();
  return list;
}

Ints pads_of(const Context& c, int axes) {
  Ints pads = c.integers("pads", Ints(static_cast<std::size_t>(2 * axes), 0));
  if (static_cast<int>(pads.size()) != 2 * axes) c.invalid(fmt::format("pads has {} entries", pads.size()));
  if (axes == 1) return {0, pads[0], 0, pads[1]};
  return pads;
}

std::string auto_pad_of(const Context& c) {
  const std::string how = c.text("auto_pad", "NOTSET");
  if (how == "NOTSET" || how.empty()) return "";
  if (how == "VALID") return "valid";
  if (how == "SAME_UPPER") return "same_upper";
  if (how == "SAME_LOWER") return "same_lower";
  c.invalid(fmt::format("auto_pad is '{}'", how));
}

Attrs pool_attrs(const Context& c, int rank) {
  const int axes = rank - 2;
  if (!c.has("kernel_shape")) c.invalid("it has no kernel_shape");
  Attrs attrs{{"kernel", of_both(c, "kernel_shape", axes, 1)}, {"strides", of_both(c, "strides", axes, 1)}};
  if (c.has("dilations")) attrs.set("dilations", of_both(c, "dilations", axes, 1));
  if (const std::string how = auto_pad_of(c); !how.empty())
    attrs.set("auto_pad", how);
  else if (const Ints pads = pads_of(c, axes); axes == 3)
    attrs.set("pads", Ints{pads[0], pads[1], pads[3], pads[4]});
  else
    attrs.set("pads", pads);
  if (c.integer("ceil_mode", 0) != 0) attrs.set("ceil_mode", std::int64_t{1});
  return attrs;
}

// True if the windows over three axes hold one element of the last two, as in PyTorch's form of local
// response normalisation.
bool is_flat_window(const Context& c) {
  const Ints kernel = c.integers("kernel_shape", {}), strides = c.integers("strides", {1, 1, 1}),
             pads = pads_of(c, 3);
  if (kernel.size() != 3 || strides.size() != 3) return false;
  return kernel[1] * kernel[2] * strides[1] * strides[2] == 1 && pads[1] + pads[2] + pads[4] + pads[5] == 0;
}

Results convert_average_pool(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const Shape s = shape_of(c, x);
  const bool flat = s.rank() == 5 && is_flat_window(c);  // the last two axes become one
  const Term image = flat ? reshaped(c, x, {s[0], s[1], s[2], s[3] * s[4]}) : as_image(c, x);
  Attrs attrs = pool_attrs(c, s.rank());
  if (c.integer("count_include_pad", 0) != 0) attrs.set("count_include_pad", std::int64_t{1});
  const Term y = apply(c, "avg_pool", {image}, attrs);
  if (!flat) return {as_signal(c, y, s.rank())};
  return {reshaped(c, y, {s[0], s[1], shape_of(c, y)[2], s[3], s[4]})};
}

// (sum of |x|^p)^(1/p): a mean over whole windows, times their size.
Results convert_lp_pool(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const int rank = shape_of(c, x).rank();
  const Term image = as_image(c, x);
  Attrs attrs = pool_attrs(c, rank);
  if (attrs.has("ceil_mode")) c.unsupported("ceil_mode: windows beyond the edge");
  attrs.set("count_include_pad", std::int64_t{1});
  const Ints kernel = attrs.integers("kernel");
  const auto p = static_cast<double>(c.integer("p", 2));
  const Term power =
      p == 2 ? apply(c, "mul", {image, image}) : apply(c, "pow", {apply(c, "abs", {image}), number(c, p)});
  const Term sum =
      apply(c, "mul",
            {apply(c, "avg_pool", {power}, attrs), number(c, static_cast<double>(kernel[0] * kernel[1]))});
  return {as_signal(c, p == 2 ? apply(c, "sqrt", {sum}) : apply(c, "pow", {sum, number(c, 1 / p)}), rank)};
}

Results convert_global(Context& c, std::string_view op) {
  const Term x = input(c, 0);
  need_float(c, x);
  if (shape_of(c, x).rank() < 3) return {x};
  return {apply(c, op, {x})};
}

Results convert_global_lp(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  Ints axes;
  for (int a = 2; a < shape_of(c, x).rank(); ++a) axes.push_back(a);
  const auto p = static_cast<double>(c.integer("p", 2));
  const Term power = apply(c, "pow", {apply(c, "abs", {x}), number(c, p)});
  return {apply(c, "pow", {apply(c, "reduce_sum", {power}, {{"axes", axes}}), number(c, 1 / p)})};
}

// One axis of a transposed convolution.
struct Grown {
  std::int64_t output, before, after;
};

Grown grown(const Context& c, std::int64_t in, std::int64_t kernel, std::int64_t stride,
            std::int64_t dilation, std::int64_t extra, std::int64_t before, std::int64_t after,
            std::optional<std::int64_t> wanted) {
  if (extra >= stride) c.unsupported(fmt::format("output_padding {} with a stride of {}", extra, stride));
  const std::int64_t whole = stride * (in - 1) + extra + (kernel - 1) * dilation + 1;
  const std::string how = auto_pad_of(c);
  if (!wanted && how.starts_with("same")) wanted = in * stride;
  if (!wanted) return {whole - before - after, before, after};
  const std::int64_t total = std::max<std::int64_t>(0, whole - *wanted), half = total / 2;
  return how == "same_upper" ? Grown{*wanted, half, total - half} : Grown{*wanted, total - half, half};
}

// The product that propagates a convolution's gradient back to its input.
Results convert_conv_transpose(Context& c) {
  c.require_inputs(2, 3);
  const Term x = input(c, 0);
  need_float(c, x);
  const int rank = shape_of(c, x).rank(), axes = rank - 2;
  const Term image = as_image(c, x), weight = as_image(c, input(c, 1));
  const Shape in = shape_of(c, image), w = shape_of(c, weight);
  const Ints strides = of_both(c, "strides", axes, 1), dilations = of_both(c, "dilations", axes, 1),
             extra = of_both(c, "output_padding", axes, 0), pads = pads_of(c, axes);
  Ints wanted = c.integers("output_shape", {});
  if (static_cast<int>(wanted.size()) > axes) wanted.erase(wanted.begin(), wanted.end() - axes);
  if (wanted.size() == 1) wanted.insert(wanted.begin(), 1);
  const std::int64_t groups = c.integer("group", 1);
  Ints shape = {in[0], w[1] * groups, 0, 0}, cut(4);
  for (std::size_t a = 0; a < 2; ++a) {
    const int k = static_cast<int>(a) + 2;
    const Grown g = grown(c, in[k], w[k], strides[a], dilations[a], extra[a], pads[a], pads[a + 2],
                          wanted.empty() ? std::nullopt : std::optional(wanted[a]));
    if (g.output < 1) c.invalid("nothing is left of the output");
    shape[a + 2] = g.output, cut[a] = g.before, cut[a + 2] = g.after;
  }
  Term y = apply(c, "conv2d_grad_input", {image, weight},
                 {{"input_shape", shape},
                  {"strides", strides},
                  {"dilations", dilations},
                  {"pads", cut},
                  {"groups", groups}});
  if (c.has_input(2)) y = apply(c, "add", {y, reshaped(c, input(c, 2), {shape[1], 1, 1})});
  return {as_signal(c, y, rank)};
}

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

ResizeTarget target_of(const Context& c, const Shape& x) {
  Ints axes;
  for (int a = 0; a < x.rank(); ++a) axes.push_back(a);
  if (c.op() == "Upsample") {
    if (c.opset() >= 9) return by_scales(c, x, axes, c.known_reals(1));
    if (c.has("scales")) return by_scales(c, x, axes, c.reals("scales"));
    return by_scales(c, x, {2, 3}, {c.real("height_scale"), c.real("width_scale")});
  }
  if (c.has("axes")) axes = axes_in(c, c.integers("axes"), x.rank());
  const std::size_t scales = c.opset() >= 11 ? 2 : 1;
  if (c.has_input(scales) && c.shape(scales).numel() > 0) return by_scales(c, x, axes, c.known_reals(scales));
  if (!c.has_input(3)) c.invalid("neither scales nor sizes");
  const Ints sizes = c.known_integers(3);
  if (sizes.size() != axes.size()) c.invalid(fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  ResizeTarget t{x.vector(), {}};
  for (std::size_t i = 0; i < axes.size(); ++i) t.sizes[static_cast<std::size_t>(axes[i])] = sizes[i];
  return t;
}

// The coordinate rule for the pixels of one axis.
std::string coordinates_of(const Context& c, const std::string& named, std::int64_t out, bool exact) {
  if (named == "pytorch_half_pixel") return out > 1 ? "half_pixel" : "asymmetric";
  if (named == "half_pixel_symmetric" && exact) return "half_pixel";
  if (named == "half_pixel" || named == "asymmetric" || named == "align_corners") return named;
  c.unsupported(fmt::format("coordinate_transformation_mode '{}'", named));
}

Results convert_resize(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const int rank = shape_of(c, x).rank();
  const Shape given_shape = shape_of(c, x);
  const bool old = c.op() == "Upsample" || c.opset() < 11;
  std::string mode = c.text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  if (mode != "nearest" && mode != "linear") c.unsupported(fmt::format("mode '{}'", mode));
  if (c.integer("antialias", 0) != 0) c.unsupported("antialias");
  if (c.text("keep_aspect_ratio_policy", "stretch") != "stretch") c.unsupported("keep_aspect_ratio_policy");
  ResizeTarget t = target_of(c, given_shape);
  if (Shape(t.sizes) == given_shape) return {x};
  const Term image = as_image(c, x);
  if (rank == 3) {
    t.sizes.insert(t.sizes.begin() + 2, 1);
    if (!t.scales.empty()) t.scales.insert(t.scales.begin() + 2, 1);
  }
  const Shape in = shape_of(c, image);
  if (t.sizes[0] != in[0] || t.sizes[1] != in[1]) c.unsupported("another number of images or channels");
  const std::string named = old ? "asymmetric" : c.text("coordinate_transformation_mode", "half_pixel");
  Attrs attrs{{"sizes", Ints{t.sizes[2], t.sizes[3]}},
              {"mode", std::string(mode == "linear" ? "bilinear" : "nearest")},
              {"nearest_mode", old ? std::string("floor") : c.text("nearest_mode", "round_prefer_floor")}};
  std::string common;
  for (int a : {2, 3}) {
    const auto k = static_cast<std::size_t>(a);
    const double quotient = static_cast<double>(t.sizes[k]) / static_cast<double>(in[a]);
    const bool exact = t.scales.empty() || std::abs(t.scales[k] - quotient) < 1e-6 * quotient;
    if (in[a] == 1 && t.sizes[k] == 1) continue;  // the same pixel in both cases
    const std::string own = coordinates_of(c, named, t.sizes[k], exact);
    if (!common.empty() && own != common) c.unsupported("one axis of length 1 and one of another length");
    common = own;
    if (!exact) attrs.set(a == 2 ? "scale_h" : "scale_w", t.scales[k]);
  }
  attrs.set("coordinates", common);
  return {as_signal(c, apply(c, "resize", {image}, attrs), rank)};
}

}  // namespace

std::vector<Conversion> window_conversions() {
  return {{"AveragePool", convert_average_pool},
          {"LpPool", convert_lp_pool},
          {"GlobalAveragePool", [](Context& c) { return convert_global(c, "global_avg_pool"); }},
          {"GlobalMaxPool", [](Context& c) { return convert_global(c, "global_max_pool"); }},
          {"GlobalLpPool", convert_global_lp},
          {"ConvTranspose", convert_conv_transpose},
          {"Resize", convert_resize},
          {"Upsample", convert_resize}};
}

}  // namespace headroom::onnx
