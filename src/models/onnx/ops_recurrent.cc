// LSTM, GRU and RNN: our operators follow ONNX's, without the parts that networks do not use.

#include <algorithm>
#include <optional>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// The gate functions of each direction; these by default.
std::string activation_of(const Context& c, const std::vector<std::string>& usual) {
  std::vector<std::string> names = c.texts("activations");
  for (std::string& name : names)
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char ch) { return std::tolower(ch); });
  if (names.empty()) return usual.back();
  const bool plain = c.op() == "RNN" && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                       return name == names[0] && (name == "relu" || name == "tanh");
                     });
  if (plain) return names[0];
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != usual[i % usual.size()]) c.unsupported(fmt::format("the activation '{}'", names[i]));
  return usual.back();
}

// Lengths that all equal the max have no effect: none.
std::optional<Term> lengths_of(Context& c, std::int64_t steps, std::int64_t batch) {
  if (!c.has_input(4)) return std::nullopt;
  const Term lengths = input(c, 4);
  if (const Shape shape = shape_of(c, lengths); shape != Shape{batch})
    c.invalid(fmt::format("its sequence_lens have the shape {}, not [{}]", shape.str(), batch));
  if (c.is_known(4)) {
    const Ints known = c.known_integers(4);
    for (const std::int64_t length : known)
      if (length < 0 || length > steps)
        c.invalid(fmt::format("a sequence of {} steps in sequence_lens, where X has {}", length, steps));
    if (std::ranges::all_of(known, [&](std::int64_t length) { return length == steps; })) return std::nullopt;
  }
  return type_of(c, lengths).dtype == DType::i64 ? lengths : cast_to(c, lengths, DType::i32);
}

bool is_zero(const Context& c, std::size_t i) {
  if (!c.is_known(i)) return false;
  const ConstantData& g = c.known(i);
  for (std::int64_t k = 0; k < (g.repeated ? 1 : g.count()); ++k)
    if (g.real(k) != 0) return false;
  return true;
}

struct Cell {
  const char* op;
  std::size_t states;  // initial states, from input 5 on
  std::vector<std::string> activations;
};

Results add_recurrent(Context& c, const Cell& cell) {
  c.require_inputs(3, 8);
  need_float(c, input(c, 0));
  if (c.has_input(7)) c.unsupported("peepholes");
  if (c.has("clip")) c.unsupported("clip");
  if (c.integer("input_forget", 0) != 0) c.unsupported("input_forget");
  const bool batch_first = c.integer("layout", 0) == 1;
  const auto turned = [&](const Term& x, Ints perm) {
    return batch_first ? apply(c, "transpose", {x}, {{"perm", std::move(perm)}}) : x;
  };
  const Term x = turned(input(c, 0), {1, 0, 2});
  std::string direction = c.text("direction", "forward");
  Attrs attrs{{"hidden_size", c.shape(2)[2]}, {"direction", direction}};
  const std::string function = activation_of(c, cell.activations);
  if (c.op() == "RNN" && function == "relu") attrs.set("activation", function);
  if (c.integer("linear_before_reset", 0) != 0) attrs.set("linear_before_reset", std::int64_t{1});
  std::vector<Term> terms = {x, input(c, 1), input(c, 2)};
  if (c.has_input(3)) terms.push_back(input(c, 3));
  bool initial = false;
  for (std::size_t i = 5; i < 5 + cell.states; ++i) initial |= c.has_input(i) && !is_zero(c, i);
  if (initial) {
    attrs.set("initial", std::int64_t{1});
    const Shape r = c.shape(2);
    const Shape states{r[0], shape_of(c, x)[1], r[2]};
    for (std::size_t i = 5; i < 5 + cell.states; ++i)
      terms.push_back(c.has_input(i) ? turned(input(c, i), {1, 0, 2})
                                     : Term(repeated_constant(states, master_of(c.dtype()), 0)));
  }
  if (const auto lengths = lengths_of(c, shape_of(c, x)[0], shape_of(c, x)[1])) {
    attrs.set("lengths", std::int64_t{1});
    terms.push_back(*lengths);
  }
  const std::vector<Term> y = apply_all(c, cell.op, terms, attrs);
  Results results = {turned(y[0], {2, 0, 1, 3})};
  for (std::size_t i = 1; i < y.size() && i < c.outputs(); ++i) results.push_back(turned(y[i], {1, 0, 2}));
  return results;
}

}  // namespace

std::vector<Conversion> recurrent_conversions() {
  return {{"LSTM",
           [](Context& c) {
             return add_recurrent(c, {"lstm", 2, {"sigmoid", "tanh", "tanh"}});
           }},
          {"GRU",
           [](Context& c) {
             return add_recurrent(c, {"gru", 1, {"sigmoid", "tanh"}});
           }},
          {"RNN", [](Context& c) {
             return add_recurrent(c, {"rnn", 1, {"tanh"}});
           }}};
}

}  // namespace headroom::onnx
