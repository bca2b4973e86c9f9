#include "models/onnx/recurrent_steps.h"

namespace headroom::onnx {
namespace {

constexpr std::int64_t kMaxSteps = 4096;  // of all directions: each makes about twenty nodes

Term product(Context& c, const Term& a, const Term& b) { return apply(c, "mul", {a, b}); }
Term sum(Context& c, const Term& a, const Term& b) { return apply(c, "add", {a, b}); }
Term scaled(Context& c, const Term& x, double by) { return product(c, x, number(c, by)); }
Term times_transposed(Context& c, const Term& a, const Term& b) {
  return apply(c, "matmul", {a, b}, {{"trans_b", std::int64_t{1}}});
}

Term call(Context& c, const GateFunction& f, const Term& x) {
  if (f.name == "sigmoid" || f.name == "tanh" || f.name == "relu" || f.name == "softplus")
    return apply(c, f.name, {x});
  if (f.name == "affine") return sum(c, scaled(c, x, f.alpha), number(c, f.beta));
  if (f.name == "scaledtanh") return scaled(c, apply(c, "tanh", {scaled(c, x, f.beta)}), f.alpha);
  if (f.name == "leakyrelu") return apply(c, "leaky_relu", {x}, {{"alpha", f.alpha}});
  if (f.name == "elu") return apply(c, "elu", {x}, {{"alpha", f.alpha}});
  if (f.name == "hardsigmoid") return apply(c, "hard_sigmoid", {x}, {{"alpha", f.alpha}, {"beta", f.beta}});
  if (f.name == "thresholdedrelu")
    return apply(c, "threshold", {x}, {{"threshold", f.alpha}, {"value", 0.0}});
  if (f.name == "softsign") return apply(c, "div", {x, sum(c, apply(c, "abs", {x}), number(c, 1))});
  c.unsupported(fmt::format("the activation '{}'", f.name));
}

// One direction.
class Unrolled {
 public:
  Unrolled(Context& c, const RecurrentForm& form, std::int64_t dir) : c_(c), form_(form), dir_(dir) {
    const Shape x = shape_of(c, form.x), r = shape_of(c, form.r);
    seq_ = x[0], batch_ = x[1], hidden_ = r[2], gates_ = r[1] / r[2];
    w_ = of_direction(form.w), r_ = of_direction(form.r);
    if (form.bias) bias_ = of_direction(*form.bias);
    if (form.peepholes) peepholes_ = of_direction(*form.peepholes);
    Ints masks = {batch_, 1};
    if (form.lengths) lengths_ = reshaped(c, *form.lengths, masks);
    const std::size_t states = form.op == "lstm" ? 2 : 1;
    for (std::size_t i = 0; i < states; ++i)
      states_.push_back(form.initial.empty() ? zeros() : of_direction(form.initial[i]));
  }

  void run() {
    const Term inputs = with_bias(times_transposed(c_, form_.x, w_), 0);  // of all steps at once
    rows_.resize(static_cast<std::size_t>(seq_));
    const bool backwards = form_.reversed || dir_ == 1;
    for (std::int64_t t = 0; t < seq_; ++t) {
      const std::int64_t place = backwards ? seq_ - 1 - t : t;
      const Term x = reshaped(c_, sliced(c_, inputs, 0, place, place + 1), {batch_, gates_ * hidden_});
      const std::vector<Term> next = form_.op == "lstm"  ? lstm(x)
                                     : form_.op == "gru" ? gru(x)
                                                         : std::vector<Term>{rnn(x)};
      Term row = next[0];
      if (lengths_) {
        const Term inside = apply(c_, "greater", {*lengths_, number_like(c_, *lengths_, double(place))});
        row = apply(c_, "where", {inside, row, zeros()});
        for (std::size_t i = 0; i < next.size(); ++i)
          states_[i] = apply(c_, "where", {inside, next[i], states_[i]});
      } else {
        states_ = next;
      }
      rows_[static_cast<std::size_t>(place)] = row;
    }
  }

  Term y() const {  // [seq, 1, batch, h]
    std::vector<Term> parts;
    for (const Term& row : rows_) parts.push_back(reshaped(c_, row, {1, 1, batch_, hidden_}));
    return joined(c_, parts, 0);
  }
  std::size_t states() const { return states_.size(); }
  Term last(std::size_t i) const { return reshaped(c_, states_[i], {1, batch_, hidden_}); }

 private:
  Term of_direction(const Term& all) const {
    Ints dims = shape_of(c_, all).vector();
    const Term part = dims[0] == 1 ? all : sliced(c_, all, 0, dir_, dir_ + 1);
    dims.erase(dims.begin());
    return reshaped(c_, part, dims);
  }
  Term zeros() const { return repeated_constant({batch_, hidden_}, master_of(c_.dtype()), 0); }
  // Half 0 of the biases belongs to the inputs, half 1 to the states.
  Term with_bias(const Term& x, std::int64_t half) const {
    const std::int64_t rows = gates_ * hidden_;
    return bias_ ? sum(c_, x, sliced(c_, *bias_, 0, half * rows, (half + 1) * rows)) : x;
  }
  Term gate(const Term& all, std::int64_t i) const {
    return sliced(c_, all, 1, i * hidden_, (i + 1) * hidden_);
  }
  Term rows_of(const Term& weights, std::int64_t first, std::int64_t last) const {
    return sliced(c_, weights, 0, first * hidden_, last * hidden_);
  }
  Term call_function(std::size_t i, const Term& x) const {
    const Term bounded =
        form_.clip > 0 ? apply(c_, "clip", {x}, {{"min", -form_.clip}, {"max", form_.clip}}) : x;
    return call(c_, form_.functions[static_cast<std::size_t>(dir_)][i], bounded);
  }
  Term peep(const Term& x, std::int64_t i, const Term& cell) const {
    return peepholes_ ? sum(c_, x, product(c_, rows_of(*peepholes_, i, i + 1), cell)) : x;
  }
  Term one_minus(const Term& x) const { return apply(c_, "sub", {number(c_, 1), x}); }

  // Gates i, o, f, c; peepholes of i, o, f. ONNX Runtime does not clip the cell before its last function.
  std::vector<Term> lstm(const Term& x) const {
    const Term &h = states_[0], &cell = states_[1];
    const Term all = sum(c_, x, with_bias(times_transposed(c_, h, r_), 1));
    const Term i = call_function(0, peep(gate(all, 0), 0, cell));
    const Term f = form_.input_forget ? one_minus(i) : call_function(0, peep(gate(all, 2), 2, cell));
    const Term made = sum(c_, product(c_, f, cell), product(c_, i, call_function(1, gate(all, 3))));
    const Term o = call_function(0, peep(gate(all, 1), 1, made));
    const GateFunction& last = form_.functions[static_cast<std::size_t>(dir_)][2];
    return {product(c_, o, call(c_, last, made)), made};
  }

  // Gates z, r, h.
  std::vector<Term> gru(const Term& x) const {
    const Term& h = states_[0];
    const Term early = with_bias(form_.linear_before_reset
                                     ? times_transposed(c_, h, r_)
                                     : joined(c_, {times_transposed(c_, h, rows_of(r_, 0, 2)), zeros()}, 1),
                                 1);
    const Term z = call_function(0, sum(c_, gate(x, 0), gate(early, 0))),
               r = call_function(0, sum(c_, gate(x, 1), gate(early, 1)));
    const Term late =
        form_.linear_before_reset
            ? product(c_, r, gate(early, 2))
            : sum(c_, times_transposed(c_, product(c_, r, h), rows_of(r_, 2, 3)), gate(early, 2));
    const Term made = call_function(1, sum(c_, gate(x, 2), late));
    return {sum(c_, product(c_, one_minus(z), made), product(c_, z, h))};
  }

  Term rnn(const Term& x) const {
    return call_function(0, sum(c_, x, with_bias(times_transposed(c_, states_[0], r_), 1)));
  }

  Context& c_;
  const RecurrentForm& form_;
  std::int64_t dir_, seq_, batch_, hidden_, gates_;
  Term w_, r_;
  std::optional<Term> bias_, peepholes_, lengths_;
  std::vector<Term> states_, rows_;
};

}  // namespace

std::vector<Term> recurrent_steps(Context& c, const RecurrentForm& form) {
  const std::int64_t dirs = shape_of(c, form.r)[0], steps = shape_of(c, form.x)[0] * dirs;
  if (steps > kMaxSteps)
    c.unsupported(fmt::format("{} steps of a form that is computed step by step, of which {} are the most",
                              steps, kMaxSteps));
  std::vector<std::vector<Term>> parts;
  for (std::int64_t dir = 0; dir < dirs; ++dir) {
    Unrolled one(c, form, dir);
    one.run();
    parts.resize(1 + one.states());
    parts[0].push_back(one.y());
    for (std::size_t i = 0; i < one.states(); ++i) parts[i + 1].push_back(one.last(i));
  }
  std::vector<Term> results = {joined(c, parts[0], 1)};
  for (std::size_t i = 1; i < parts.size(); ++i) results.push_back(joined(c, parts[i], 0));
  return results;
}

}  // namespace headroom::onnx
