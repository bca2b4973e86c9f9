#include "models/onnx/window.h"

#include <algorithm>

namespace headroom::onnx {

Attrs window_attrs(const Context& c, const Ints& kernel) {
  const std::size_t axes = kernel.size();
  if (axes < 1 || axes > 3) c.unsupported(fmt::format("windows over {} axes", axes));
  const Ints named = c.integers("kernel_shape", kernel);
  if (named != kernel)
    c.invalid(
        fmt::format("kernel_shape [{}] with kernels of [{}]", fmt::join(named, ","), fmt::join(kernel, ",")));
  Attrs attrs;
  auto set = [&](const char* name, std::int64_t fill, std::size_t sides) {
    if (!c.has(name)) return;
    Ints list = c.integers(name);
    if (list.size() != axes * sides)
      c.invalid(fmt::format("{} has {} entries for {} axes", name, list.size(), axes));
    if (axes == 1 && sides == 1) list = {fill, list[0]};
    if (axes == 1 && sides == 2) list = {fill, list[0], fill, list[1]};
    attrs.set(name, list);
  };
  set("strides", 1, 1);
  set("dilations", 1, 1);
  const std::string rule = c.text("auto_pad", "NOTSET");
  if (rule == "NOTSET") {
    set("pads", 0, 2);
  } else if (rule == "SAME_UPPER" || rule == "SAME_LOWER") {
    attrs.set("auto_pad", rule == "SAME_UPPER" ? "same_upper" : "same_lower");
  } else if (rule != "VALID") {
    c.invalid(fmt::format("auto_pad is '{}'", rule));
  }
  return attrs;
}

ValueId as_images(Context& c, ValueId value, bool is_line) {
  if (!is_line) return value;
  const Shape x = c.shape_of(value);
  return c.emit("reshape", {value}, {{"shape", Ints{x[0], x[1], 1, x[2]}}});
}

ValueId as_lines(Context& c, ValueId value, bool is_line) {
  if (!is_line) return value;
  const Shape x = c.shape_of(value);
  return c.emit("reshape", {value}, {{"shape", Ints{x[0], x[1], x[3]}}});
}

}  // namespace headroom::onnx
