// Sliding windows over maps.

#include <algorithm>
#include <cmath>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// Our windows have two axes or three: a signal is an image of one row.
Term as_image(Context& c, const Term& x) {
  const Shape s = shape_of(c, x);
  if (s.rank() == 4 || s.rank() == 5) return x;
  if (s.rank() != 3) c.unsupported(fmt::format("windows over {}: one to three axes are supported", s.str()));
  return reshaped(c, x, {s[0], s[1], 1, s[2]});
}

Term as_signal(Context& c, const Term& y, int rank) {
  const Shape s = shape_of(c, y);
  return rank != 3 ? y : reshaped(c, y, {s[0], s[1], s[3]});
}

std::string for_rank(int rank, std::string_view images, std::string_view volumes) {
  return std::string(rank == 5 ? volumes : images);
}

// An attribute with one entry per window axis; one more before a single one.
Ints of_axes(const Context& c, std::string_view name, int axes, std::int64_t fallback) {
  Ints list = c.integers(name, Ints(static_cast<std::size_t>(axes), fallback));
  if (static_cast<int>(list.size()) != axes) c.invalid(fmt::format("{} has {} entries", name, list.size()));
  if (axes == 1) list.insert(list.begin(), fallback);
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
  Attrs attrs{{"kernel", of_axes(c, "kernel_shape", axes, 1)}, {"strides", of_axes(c, "strides", axes, 1)}};
  if (c.has("dilations")) attrs.set("dilations", of_axes(c, "dilations", axes, 1));
  if (const std::string how = auto_pad_of(c); !how.empty())
    attrs.set("auto_pad", how);
  else
    attrs.set("pads", pads_of(c, axes));
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

// The last two axes become one.
Attrs of_flat_window(Attrs attrs) {
  for (const char* name : {"kernel", "strides", "dilations"})
    if (Ints list = attrs.integers(name); !list.empty()) list.pop_back(), attrs.set(name, list);
  if (const Ints pads = attrs.integers("pads"); !pads.empty())
    attrs.set("pads", Ints{pads[0], pads[1], pads[3], pads[4]});
  return attrs;
}

Results convert_average_pool(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const Shape s = shape_of(c, x);
  const bool flat = s.rank() == 5 && is_flat_window(c);
  const Term image = flat ? reshaped(c, x, {s[0], s[1], s[2], s[3] * s[4]}) : as_image(c, x);
  Attrs attrs = pool_attrs(c, s.rank());
  if (c.integer("count_include_pad", 0) != 0) attrs.set("count_include_pad", std::int64_t{1});
  if (!flat)
    return {as_signal(c, apply(c, for_rank(s.rank(), "avg_pool", "avg_pool3d"), {image}, attrs), s.rank())};
  const Term y = apply(c, "avg_pool", {image}, of_flat_window(attrs));
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
  double taps = 1;
  for (const std::int64_t extent : attrs.integers("kernel")) taps *= static_cast<double>(extent);
  const auto p = static_cast<double>(c.integer("p", 2));
  const Term power =
      p == 2 ? apply(c, "mul", {image, image}) : apply(c, "pow", {apply(c, "abs", {image}), number(c, p)});
  const Term mean = apply(c, for_rank(rank, "avg_pool", "avg_pool3d"), {power}, attrs);
  const Term sum = apply(c, "mul", {mean, number(c, taps)});
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
  const Ints strides = of_axes(c, "strides", axes, 1), dilations = of_axes(c, "dilations", axes, 1),
             extra = of_axes(c, "output_padding", axes, 0), pads = pads_of(c, axes);
  Ints wanted = c.integers("output_shape", {});
  if (static_cast<int>(wanted.size()) > axes) wanted.erase(wanted.begin(), wanted.end() - axes);
  if (wanted.size() == 1) wanted.insert(wanted.begin(), 1);
  const std::int64_t groups = c.integer("group", 1);
  const std::size_t own = strides.size();  // axes of our window
  Ints shape = {in[0], w[1] * groups}, bias_shape = {w[1] * groups}, cut(2 * own);
  for (std::size_t a = 0; a < own; ++a) {
    const int k = static_cast<int>(a) + 2;
    const Grown g = grown(c, in[k], w[k], strides[a], dilations[a], extra[a], pads[a], pads[a + own],
                          wanted.empty() ? std::nullopt : std::optional(wanted[a]));
    if (g.output < 1) c.invalid("nothing is left of the output");
    shape.push_back(g.output), bias_shape.push_back(1);
    cut[a] = g.before, cut[a + own] = g.after;
  }
  Term y = apply(c, for_rank(rank, "conv2d_grad_input", "conv3d_grad_input"), {image, weight},
                 {{"input_shape", shape},
                  {"strides", strides},
                  {"dilations", dilations},
                  {"pads", cut},
                  {"groups", groups}});
  if (c.has_input(2)) y = apply(c, "add", {y, reshaped(c, input(c, 2), bias_shape)});
  return {as_signal(c, y, rank)};
}

}  // namespace

std::vector<Conversion> window_conversions() {
  return {{"AveragePool", convert_average_pool},
          {"LpPool", convert_lp_pool},
          {"GlobalAveragePool", [](Context& c) { return convert_global(c, "global_avg_pool"); }},
          {"GlobalMaxPool", [](Context& c) { return convert_global(c, "global_max_pool"); }},
          {"GlobalLpPool", convert_global_lp},
          {"ConvTranspose", convert_conv_transpose}};
}

}  // namespace headroom::onnx
