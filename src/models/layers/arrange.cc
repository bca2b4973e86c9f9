#include "models/layers/types.h"

namespace headroom {
namespace {

// Shapes in net.json are those of one item, without the batch dimension; axis 0 is the first of the item.
Ints with_batch(const LayerContext& c, Ints item) {
  item.insert(item.begin(), c.graph.value(c.inputs[0]).type.shape[0]);
  return item;
}

ValueId lower_reshape(const LayerContext& c) {
  return c.emit("reshape", {c.inputs[0]}, {{"shape", with_batch(c, c.layer.options.integers("shape"))}});
}

ValueId lower_transpose(const LayerContext& c) {
  Ints perm = {0};
  for (std::int64_t axis : c.layer.options.integers("axes")) perm.push_back(axis + 1);
  return c.emit("transpose", {c.inputs[0]}, {{"perm", perm}});
}

ValueId lower_concat(const LayerContext& c) {
  return c.emit("concat", c.inputs, {{"axis", c.layer.options.integer("axis", 0) + 1}});
}

ValueId lower_pad(const LayerContext& c) {
  image_shape(c);
  const Ints p = c.layer.options.integers("pads");
  Attrs attrs{{"pads", Ints{0, 0, p.at(0), p.at(1), 0, 0, p.at(2), p.at(3)}}};
  if (c.layer.options.has("mode")) attrs.set("mode", c.layer.options.text("mode"));
  return c.emit("pad", {c.inputs[0]}, attrs);
}

ValueId lower_resize(const LayerContext& c) {
  image_shape(c);
  Attrs attrs{{"sizes", c.layer.options.integers("size")}};
  if (c.layer.options.has("mode")) attrs.set("mode", c.layer.options.text("mode"));
  return c.emit("resize", {c.inputs[0]}, attrs);
}

}  // namespace

std::vector<LayerType> arrange_layers() {
  using K = OptionKind;
  return {
      {"flatten", {}, 1, flattened},
      {"reshape", {{"shape", K::integers, true}}, 1, lower_reshape},
      {"transpose", {{"axes", K::integers, true}}, 1, lower_transpose},
      {"concat", {{"axis", K::integer}}, kTwoOrMore, lower_concat},
      {"pad", {{"pad", K::padding, true}, {"mode", K::text}}, 1, lower_pad},
      {"resize", {{"size", K::pair, true}, {"mode", K::text}}, 1, lower_resize},
  };
}

}  // namespace headroom
