// Recurrent layers. One item of a batch is a sequence, [time, width]; the operators take time first.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "models/layers/types.h"

namespace headroom {
namespace {

// The option, which must be one of these words; the first is the default.
std::string word_of(const LayerContext& c, const char* option, const std::vector<std::string>& words) {
  const std::string word = c.layer.options.text(option, words.front());
  if (std::find(words.begin(), words.end(), word) == words.end())
    reject(nearest(word, words), "layer '{}': {} cannot be '{}'", c.layer.name, option, word);
  return word;
}

struct Form {
  std::int64_t hidden, layers, dirs, gates;
  Attrs attrs;         // of the operator
  Initializer weight;  // of both matrices
};

Form form_of(const LayerContext& c) {
  const std::string& op = c.layer.type;
  const Attrs& options = c.layer.options;
  Form f{.hidden = at_least_one(c, "hidden"),
         .layers = options.has("layers") ? at_least_one(c, "layers") : 1,
         .dirs = options.integer("bidirectional") != 0 ? 2 : 1,
         .gates = op == "lstm"  ? 4
                  : op == "gru" ? 3
                                : 1,
         .attrs = {},
         .weight = {}};
  constexpr std::int64_t kMaxLayers = 64;
  if (f.layers > kMaxLayers)
    reject("layer '{}': layers is {}; the max is {}", c.layer.name, f.layers, kMaxLayers);
  f.attrs = {{"hidden_size", f.hidden}};
  if (f.dirs == 2) f.attrs.set("direction", std::string("bidirectional"));
  if (op == "gru" && options.integer("reset_after", 1) != 0)
    f.attrs.set("linear_before_reset", std::int64_t{1});
  if (op == "rnn" && word_of(c, "activation", {"tanh", "relu"}) == "relu")
    f.attrs.set("activation", std::string("relu"));
  const double bound = options.real("init_scale", 1 / std::sqrt(double(f.hidden)));
  if (!(bound >= 0))
    reject("layer '{}': init_scale is {}; a bound must not be negative", c.layer.name, bound);
  f.weight = {Initializer::Kind::uniform, bound};
  return f;
}

// One of the layers: its operator's outputs. x is [time, batch, width].
std::vector<ValueId> add_layer(const LayerContext& c, const Form& f, std::int64_t number, ValueId x) {
  const std::string before = f.layers == 1 ? "" : fmt::format("{}.", number);
  const std::int64_t width = c.graph.value(x).type.shape[2], rows = f.gates * f.hidden;
  std::vector<ValueId> operands = {
      x, c.parameter(before + "input.weight", {f.dirs, rows, width}, f.weight, true),
      c.parameter(before + "state.weight", {f.dirs, rows, f.hidden}, f.weight, true)};
  if (c.layer.options.integer("bias", 1) != 0)
    operands.push_back(c.parameter(before + "bias", {f.dirs, 2 * rows}, {}, false));
  return c.graph.add_node(c.layer.type, operands, f.attrs, c.layer.name);
}

ValueId transposed(const LayerContext& c, ValueId x, const Ints& perm) {
  return c.emit("transpose", {x}, {{"perm", perm}});
}

ValueId reshaped(const LayerContext& c, ValueId x, const Ints& shape) {
  return c.emit("reshape", {x}, {{"shape", shape}});
}

// Directions lie side by side in the width of what comes out: forward first.
ValueId lower_recurrent(const LayerContext& c) {
  const Shape x = sequence_shape(c);
  const Form f = form_of(c);
  const std::int64_t batch = x[0], time = x[1], width = f.dirs * f.hidden;
  const bool last = word_of(c, "output", {"sequence", "last"}) == "last";
  std::vector<ValueId> y = {transposed(c, c.inputs[0], {1, 0, 2})};
  for (std::int64_t number = 1; number <= f.layers; ++number) {
    ValueId in = y[0];
    if (number > 1)
      in = reshaped(c, f.dirs == 1 ? in : transposed(c, in, {0, 2, 1, 3}), {time, batch, width});
    y = add_layer(c, f, number, in);
  }
  if (last) return reshaped(c, f.dirs == 1 ? y[1] : transposed(c, y[1], {1, 0, 2}), {batch, width});
  return reshaped(c, transposed(c, y[0], {2, 0, 1, 3}), {batch, time, width});
}

}  // namespace

std::vector<LayerType> recurrent_layers() {
  using K = OptionKind;
  const std::vector<OptionSpec> shared = {{"hidden", K::integer, true}, {"layers", K::integer},
                                          {"bidirectional", K::flag},   {"bias", K::flag},
                                          {"output", K::text},          {"init_scale", K::real}};
  return {{"lstm", shared, 1, lower_recurrent},
          {"gru", join(shared, {{"reset_after", K::flag}}), 1, lower_recurrent},
          {"rnn", join(shared, {{"activation", K::text}}), 1, lower_recurrent}};
}

}  // namespace headroom
