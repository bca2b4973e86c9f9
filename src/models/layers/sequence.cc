// Layers of transformers. One item of a batch is a sequence: [time, width], or [time] for tokens.
#include "models/layers/types.h"
#include "models/onnx/imported.h"

namespace headroom {
namespace {

Initializer drawn(const LayerContext& c, const Shape& weight, const char* scale_option) {
  Layer layer = c.layer;
  if (c.layer.options.has(scale_option)) layer.options.set("init_scale", c.layer.options.real(scale_option));
  return initializer_of(layer, weight);
}

// A lookup table; initialised with a normal distribution of deviation 0.02 by default.
Initializer table(const LayerContext& c, const Shape& weight) {
  if (c.layer.options.has("init")) return initializer_of(c.layer, weight);
  return {Initializer::Kind::normal, c.layer.options.real("init_scale", 0.02)};
}

ValueId lower_embedding(const LayerContext& c) {
  const TensorType ids = c.graph.value(c.inputs[0]).type;
  if (is_float(ids.dtype) || ids.shape.rank() != 2)
    reject(Hint{"an embedding reads \"input\", a list of one number: the length of the text"},
           "layer '{}': embedding needs tokens, but its input is {} {}", c.layer.name, name_of(ids.dtype),
           ids.shape.without_first().str());
  const Shape shape{at_least_one(c, "tokens"), at_least_one(c, "width")};
  return c.emit("gather", {c.parameter("weight", shape, table(c, shape), true), c.inputs[0]},
                {{"axis", std::int64_t{0}}});
}

ValueId lower_positions(const LayerContext& c) {
  const Shape x = sequence_shape(c);
  const Shape weight{x[1], x[2]};
  return c.emit("add", {c.inputs[0], c.parameter("weight", weight, table(c, weight), true)});
}

// A learned vector in front of every sequence.
ValueId lower_class_token(const LayerContext& c) {
  const Shape x = sequence_shape(c);
  const Shape weight{1, 1, x[2]};
  const ValueId token = c.parameter("weight", weight, table(c, weight), false);
  const ValueId all = c.emit("expand", {token}, {{"shape", Ints{x[0], 1, x[2]}}});
  return c.emit("concat", {all, c.inputs[0]}, {{"axis", std::int64_t{1}}});
}

ValueId project(const LayerContext& c, ValueId x, const std::string& name, std::int64_t units,
                const char* scale_option) {
  const Shape weight{units, c.graph.value(x).type.shape[2]};
  std::vector<ValueId> operands = {
      x, c.parameter(name + ".weight", weight, drawn(c, weight, scale_option), true)};
  if (c.layer.options.integer("bias", 1)) operands.push_back(c.parameter(name + ".bias", {units}, {}, false));
  return c.emit("linear", operands);
}

// One product for queries, keys and values, attention in every head, and a product over the results.
ValueId lower_attention(const LayerContext& c) {
  const std::int64_t width = sequence_shape(c)[2], heads = at_least_one(c, "heads");
  if (width % heads != 0)
    reject("layer '{}': a width of {} cannot be split into {} heads", c.layer.name, width, heads);
  Attrs attrs{{"heads", heads}};
  if (c.layer.options.integer("causal")) attrs.set("causal", std::int64_t{1});
  if (c.layer.options.has("scale")) attrs.set("scale", c.layer.options.real("scale"));
  const ValueId qkv = project(c, c.inputs[0], "qkv", 3 * width, "init_scale");
  return project(c, c.emit("attention", {qkv}, attrs), "out", width, "out_init_scale");
}

ValueId lower_take_token(const LayerContext& c) {
  const Shape x = sequence_shape(c);
  std::int64_t at = c.layer.options.integer("index");
  if (at < -x[1] || at >= x[1])
    reject("layer '{}': there is no token {} in a sequence of {}", c.layer.name, at, x[1]);
  if (at < 0) at += x[1];
  const ValueId one =
      c.emit("slice", {c.inputs[0]}, {{"starts", Ints{at}}, {"ends", Ints{at + 1}}, {"axes", Ints{1}}});
  return c.emit("reshape", {one}, {{"shape", Ints{x[0], x[2]}}});
}

ValueId lower_mean_tokens(const LayerContext& c) {
  sequence_shape(c);
  return c.emit("reduce_mean", {c.inputs[0]}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}});
}

// Scores for every token from an embedding's table: the two layers share its weights.
ValueId lower_unembedding(const LayerContext& c) {
  const Shape x = sequence_shape(c);
  const std::string from = c.layer.options.text("table");
  const ValueId weight = c.graph.find(from + ".weight");
  if (weight == kNone || c.graph.value(weight).role != Role::parameter)
    reject(Hint{R"("table" names an embedding layer before this one)"}, "layer '{}': '{}' has no table",
           c.layer.name, from);
  const Shape shape = c.graph.value(weight).type.shape;
  if (shape.rank() != 2 || shape[1] != x[2])
    reject("layer '{}': the table of '{}' is {}, which does not fit a width of {}", c.layer.name, from,
           shape.str(), x[2]);
  return c.emit("linear", {c.inputs[0], weight});
}

}  // namespace

std::vector<LayerType> sequence_layers() {
  using K = OptionKind;
  const std::vector<OptionSpec> init = {{"init", K::text}, {"init_scale", K::real}};
  return {
      {"embedding", join({{"tokens", K::integer, true}, {"width", K::integer, true}}, init), 1,
       lower_embedding},
      {"positions", init, 1, lower_positions},
      {"class_token", init, 1, lower_class_token},
      {"attention",
       join({{"heads", K::integer, true},
             {"causal", K::flag},
             {"bias", K::flag},
             {"scale", K::real},
             {"out_init_scale", K::real}},
            init),
       1, lower_attention},
      {"take_token", {{"index", K::integer}}, 1, lower_take_token},
      {"mean_tokens", {}, 1, lower_mean_tokens},
      {"unembedding", {{"table", K::text, true}}, 1, lower_unembedding},
  };
}

Shape sequence_shape(const LayerContext& c) {
  const Shape x = c.graph.value(c.inputs[0]).type.shape;
  if (x.rank() != 3)
    reject(Hint{"an embedding, or a reshape and a transpose of images, makes sequences"},
           "layer '{}': {} needs sequences (time x width), but its input is {}", c.layer.name, c.layer.type,
           x.without_first().str());
  return x;
}

bool reads_tokens(const Net& net) {
  if (net.imported) return net.imported->reads_tokens();
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const Layer& layer = net.layers[i];
    const bool reads_input = layer.from.empty() ? i == 0 : layer.from[0] == "input";
    if (layer.type == "embedding" && reads_input) return true;
  }
  return false;
}

}  // namespace headroom
