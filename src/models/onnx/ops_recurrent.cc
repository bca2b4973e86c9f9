// LSTM, GRU and RNN: our operators follow ONNX's, without the parts that few networks use. Those are computed
// step by step (recurrent_steps.h).

#include <algorithm>
#include <optional>

#include "models/onnx/recurrent_steps.h"

namespace headroom::onnx {
namespace {

// Alpha and beta are given to those functions that take them, in order.
struct Takes {
  std::optional<double> alpha, beta;
};
Takes parameters_of(const std::string& name) {
  if (name == "affine" || name == "scaledtanh") return {1, name == "affine" ? 0 : 1};
  if (name == "leakyrelu") return {0.01, std::nullopt};
  if (name == "hardsigmoid") return {0.2, 0.5};
  if (name == "elu" || name == "thresholdedrelu") return {1, std::nullopt};
  return {};
}

// The gate functions of each direction.
std::vector<std::vector<GateFunction>> functions_of(const Context& c, const std::vector<std::string>& usual) {
  const auto dirs = static_cast<std::size_t>(c.shape(2)[0]);
  std::vector<std::string> names = c.texts("activations");
  for (std::string& name : names)
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char ch) { return std::tolower(ch); });
  for (std::size_t i = 0; c.texts("activations").empty() && i < dirs * usual.size(); ++i)
    names.push_back(usual[i % usual.size()]);
  if (names.size() != dirs * usual.size())
    c.invalid(fmt::format("it has {} activations, not {}", names.size(), dirs * usual.size()));
  const std::vector<double> alphas = c.reals("activation_alpha", {}), betas = c.reals("activation_beta", {});
  std::size_t alpha = 0, beta = 0;
  std::vector<std::vector<GateFunction>> functions(dirs);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Takes takes = parameters_of(names[i]);
    GateFunction f{names[i], takes.alpha.value_or(0), takes.beta.value_or(0)};
    if (takes.alpha && alpha < alphas.size()) f.alpha = alphas[alpha++];
    if (takes.beta && beta < betas.size()) f.beta = betas[beta++];
    functions[i / usual.size()].push_back(f);
  }
  return functions;
}

// The function that an operator of ours has for its last gate, if it has all of them.
std::optional<std::string> operator_function(const Context& c, const std::vector<std::string>& usual,
                                             const std::vector<std::vector<GateFunction>>& functions) {
  const std::string& first = functions[0][0].name;
  const bool any = c.op() == "RNN" && first == "relu";
  for (const auto& direction : functions)
    for (std::size_t i = 0; i < usual.size(); ++i)
      if (direction[i].name != (any ? first : usual[i])) return std::nullopt;
  return any ? first : usual.back();
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

// `terms` as our operators take them: X, W, R, perhaps B, first states and lengths.
RecurrentForm form_of(const Context& c, const Cell& cell, const std::vector<Term>& terms, const Attrs& attrs,
                      const std::vector<std::vector<GateFunction>>& functions) {
  RecurrentForm form{.op = cell.op,
                     .reversed = attrs.text("direction") == "reverse",
                     .linear_before_reset = attrs.integer("linear_before_reset") != 0,
                     .input_forget = c.integer("input_forget", 0) != 0,
                     .clip = c.real("clip", 0),
                     .functions = functions,
                     .x = terms[0],
                     .w = terms[1],
                     .r = terms[2]};
  std::size_t next = 3;
  if (c.has_input(3)) form.bias = terms[next++];
  for (std::size_t i = 0; attrs.has("initial") && i < cell.states; ++i) form.initial.push_back(terms[next++]);
  if (attrs.has("lengths")) form.lengths = terms[next++];
  if (c.has_input(7)) form.peepholes = input(c, 7);
  return form;
}

Results add_recurrent(Context& c, const Cell& cell) {
  c.require_inputs(3, 8);
  need_float(c, input(c, 0));
  const auto functions = functions_of(c, cell.activations);
  const std::optional<std::string> function = operator_function(c, cell.activations, functions);
  const bool peepholes = c.has_input(7) && !is_zero(c, 7);
  const bool batch_first = c.integer("layout", 0) == 1;
  const auto turned = [&](const Term& x, Ints perm) {
    return batch_first ? apply(c, "transpose", {x}, {{"perm", std::move(perm)}}) : x;
  };
  const Term x = turned(input(c, 0), {1, 0, 2});
  std::string direction = c.text("direction", "forward");
  Attrs attrs{{"hidden_size", c.shape(2)[2]}, {"direction", direction}};
  if (c.op() == "RNN" && function == "relu") attrs.set("activation", *function);
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
  const bool plain = function && !peepholes && !c.has("clip") && c.integer("input_forget", 0) == 0;
  const std::vector<Term> y = plain ? apply_all(c, cell.op, terms, attrs)
                                    : recurrent_steps(c, form_of(c, cell, terms, attrs, functions));
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
