#include "ops/window.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "ops/window3d.h"

namespace headroom {
namespace window_cc {
namespace {

// Attributes come from files: beyond this, products of two could overflow.
constexpr std::int64_t kLargest = std::int64_t{1} << 30;

// Numbers of some axes, without storage of their own: kernels parse their windows again and again.
using Numbers = std::array<std::int64_t, 6>;

// The first `count` from an attribute, if it is there.
Numbers extents(const Attrs& attrs, std::string_view name, std::size_t count, Numbers fallback,
                std::int64_t least) {
  if (!attrs.has(name)) return fallback;
  const std::vector<std::int64_t> v = attrs.integers(name);
  if (v.size() != count) reject("'{}' has {} entries, not {}", name, v.size(), count);
  for (std::int64_t x : v)
    if (x < least || x > kLargest) reject("'{}' holds {}; it must be at least {}", name, x, least);
  std::ranges::copy(v, fallback.begin());
  return fallback;
}

struct Axis : WindowAxis {
  std::string_view name;
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// SAME: as many outputs as strides fit into the input; the odd element of padding goes to the end
// ("same_upper") or to the beginning.
void pad_same(Axis& axis, bool upper) {
  axis.output = (axis.input + axis.stride - 1) / axis.stride;
  const std::int64_t total =
      std::max<std::int64_t>(0, (axis.output - 1) * axis.stride + axis.reach() - axis.input);
  axis.pad = upper ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad;
}

// A mean or maximum over padding alone has no value; a convolution over it is zero.
void count_outputs(Axis& axis, bool ceil_mode, bool pools) {
  for (std::int64_t pad : {axis.pad, axis.pad_end})
    if (pools && pad >= axis.reach())
      reject(Hint{"padding must be smaller than the window"},
             "padding of {} with a window of {} in {}: a window would cover only padding", pad, axis.reach(),
             axis.name);
  const std::int64_t room = axis.input + axis.pad + axis.pad_end - axis.reach();
  axis.output = floor_div(room + (ceil_mode ? axis.stride - 1 : 0), axis.stride) + 1;
  if (ceil_mode && (axis.output - 1) * axis.stride >= axis.input + axis.pad) --axis.output;
  if (axis.output < 1)
    reject(Hint{"use a larger input, a smaller window or more padding"},
           "a window of {} does not fit an input of {} with padding {}+{} in {}", axis.reach(), axis.input,
           axis.pad, axis.pad_end, axis.name);
}

// The axes of the input after N and C, with one entry of `kernel` each.
std::array<Axis, 3> parse_axes(const Attrs& attrs, const Shape& input, std::span<const std::int64_t> kernel,
                               DefaultStride default_stride) {
  const std::size_t count = kernel.size();
  constexpr std::string_view names[] = {"depth", "height", "width"};
  for (std::size_t a = 0; a < count; ++a)
    for (std::int64_t d : {input[int(a) + 2], kernel[a]})
      if (d < 1 || d > kLargest)
        reject("a window of {} over an input of {}", fmt::join(kernel, "x"), input.str());
  const bool own = default_stride == DefaultStride::kernel;
  constexpr Numbers ones = {1, 1, 1};
  Numbers step = ones;
  if (own) std::ranges::copy(kernel, step.begin());
  const Numbers strides = extents(attrs, "strides", count, step, 1);
  const Numbers dilations = extents(attrs, "dilations", count, ones, 1);
  const Numbers pads = extents(attrs, "pads", 2 * count, {}, 0);
  const std::string auto_pad = attrs.text("auto_pad");
  const bool same = auto_pad == "same_upper" || auto_pad == "same_lower";
  if (!same && !auto_pad.empty() && auto_pad != "valid") {
    const std::vector<std::string> rules = {"valid", "same_upper", "same_lower"};
    reject(nearest(auto_pad, rules), "unknown auto_pad '{}'", auto_pad);
  }
  if (!auto_pad.empty() && *std::max_element(pads.begin(), pads.end()) > 0)
    reject(Hint{"give one or the other"}, "both auto_pad '{}' and pads are set", auto_pad);
  const bool ceil_mode = attrs.integer("ceil_mode") != 0;
  std::array<Axis, 3> axes;
  for (std::size_t a = 0; a < count; ++a) {
    Axis axis{{.input = input[int(a) + 2],
               .kernel = kernel[a],
               .stride = strides[a],
               .dilation = dilations[a],
               .pad = pads[a],
               .pad_end = pads[a + count]},
              names[3 - count + a]};
    if (same)
      pad_same(axis, auto_pad == "same_upper");
    else
      count_outputs(axis, ceil_mode, own);
    axes[a] = axis;
  }
  return axes;
}

}  // namespace
}  // namespace window_cc

Window2d parse_window(const Attrs& attrs, const Shape& input_nchw, std::int64_t kernel_h,
                      std::int64_t kernel_w, DefaultStride default_stride) {
  using namespace window_cc;
  if (input_nchw.rank() != 4) reject("a 2-d window slides over NCHW, not over {}", input_nchw.str());
  const std::int64_t kernel[] = {kernel_h, kernel_w};
  const std::array<Axis, 3> axes = parse_axes(attrs, input_nchw, kernel, default_stride);
  const Axis &rows = axes[0], &columns = axes[1];
  return {.input = {rows.input, columns.input},
          .output = {rows.output, columns.output},
          .kernel = {kernel_h, kernel_w},
          .stride = {rows.stride, columns.stride},
          .dilation = {rows.dilation, columns.dilation},
          .pad = {rows.pad, columns.pad},
          .pad_end = {rows.pad_end, columns.pad_end}};
}

Window3d parse_window3d(const Attrs& attrs, const Shape& input_ncdhw, const std::vector<std::int64_t>& kernel,
                        DefaultStride default_stride) {
  using namespace window_cc;
  if (input_ncdhw.rank() != 5) reject("a 3-d window slides over NCDHW, not over {}", input_ncdhw.str());
  if (kernel.size() != 3) reject("a 3-d window has three extents, not {}", kernel.size());
  const std::array<Axis, 3> axes = parse_axes(attrs, input_ncdhw, kernel, default_stride);
  return {axes[0], axes[1], axes[2]};
}

}  // namespace headroom
