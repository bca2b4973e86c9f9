#include <algorithm>

#include "base/text.h"
#include "graph/graph.h"
#include "ops/expect.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_schema_cc {
namespace {

struct Cell {
  std::string_view op, grad;
  CellKind kind;
  std::int64_t gates;
};
constexpr Cell kLstm{"lstm", "lstm_grad", CellKind::lstm, 4}, kGru{"gru", "gru_grad", CellKind::gru, 3},
    kRnn{"rnn", "rnn_grad", CellKind::rnn, 1};

bool flag(const Attrs& attrs, std::string_view name) { return attrs.integer(name) == 1; }

// Takes inputs one after the other and holds each against the type it must have.
class Inputs {
 public:
  Inputs(std::string_view op, const std::vector<TensorType>& in, std::string_view usage)
      : op_(op), in_(in), usage_(usage) {}
  const TensorType& next(std::string_view name) {
    if (used_ == in_.size()) reject("{} takes {}; {} is missing", op_, usage_, name);
    return in_[used_++];
  }
  void expect(std::string_view name, const TensorType& want) {
    if (const TensorType& given = next(name); given != want)
      reject("{}: {} is {} {}, not {} {}", op_, name, name_of(given.dtype), given.shape.str(),
             name_of(want.dtype), want.shape.str());
  }
  void expect_lengths(std::int64_t batch) {
    const TensorType& given = next("lengths");
    if ((given.dtype != DType::i32 && given.dtype != DType::i64) || given.shape != Shape{batch})
      reject(Hint{"one int32 or int64 for each item of the batch"}, "{}: lengths are {} {}, not [{}]", op_,
             name_of(given.dtype), given.shape.str(), batch);
  }
  std::size_t left() const { return in_.size() - used_; }
  void expect_end() const {
    if (left() > 0) reject("{} takes {}, not {} inputs", op_, usage_, in_.size());
  }

 private:
  std::string_view op_;
  const std::vector<TensorType>& in_;
  std::string_view usage_;
  std::size_t used_ = 0;
};

std::int64_t directions(std::string_view op, const Attrs& attrs) {
  const std::vector<std::string> known = {"forward", "reverse", "bidirectional"};
  const std::string direction = attrs.text("direction", "forward");
  if (std::find(known.begin(), known.end(), direction) == known.end())
    reject(nearest(direction, known), "{}: unknown direction '{}'", op, direction);
  return direction == "bidirectional" ? 2 : 1;
}

// The extents that X and the attributes give, checked.
RecurrentProblem extents(const Cell& cell, std::string_view op, const TensorType& x, const Attrs& attrs) {
  expect_float(op, x);
  expect_rank(op, x, 3, "X of shape [seq, batch, input]");
  if (x.shape.numel() == 0) reject("{} of an empty X {}", op, x.shape.str());
  const std::int64_t hidden = attrs.integer("hidden_size");
  if (hidden < 1) reject("{}: hidden_size is {}", op, hidden);
  if (const std::string f = attrs.text("activation", "tanh"); f != "tanh" && f != "relu")
    reject("{}: activation is '{}', not tanh or relu", op, f);
  return {.kind = cell.kind,
          .gates = cell.gates,
          .seq = x.shape[0],
          .batch = x.shape[1],
          .input = x.shape[2],
          .hidden = hidden,
          .dirs = directions(op, attrs),
          .bias = flag(attrs, "bias"),
          .initial = flag(attrs, "initial"),
          .reversed = attrs.text("direction") == "reverse",
          .linear_before_reset = flag(attrs, "linear_before_reset"),
          .relu = attrs.text("activation") == "relu",
          .lengths = flag(attrs, "lengths"),
          .saves = flag(attrs, "saves"),
          .dy = flag(attrs, "dy"),
          .dy_h = flag(attrs, "dy_h"),
          .dy_c = flag(attrs, "dy_c"),
          .dx = flag(attrs, "dx")};
}

// Types of the tensors beside X.
struct TensorTypes {
  TensorType w, r, b, state, y, saved;
};
TensorTypes types_of(const RecurrentProblem& p, DType dtype) {
  return {.w = {{p.dirs, p.rows(), p.input}, dtype},
          .r = {{p.dirs, p.rows(), p.hidden}, dtype},
          .b = {{p.dirs, 2 * p.rows()}, dtype},
          .state = {{p.dirs, p.batch, p.hidden}, dtype},
          .y = {{p.seq, p.dirs, p.batch, p.hidden}, dtype},
          .saved = {{p.dirs, p.seq, p.batch, p.saved_parts() * p.hidden}, master_of(dtype)}};
}

// How many inputs follow X, W and R, without B.
std::size_t further_inputs(const RecurrentProblem& p) {
  return (p.initial ? (p.kind == CellKind::lstm ? 2u : 1u) : 0u) + (p.lengths ? 1u : 0u);
}

void expect_states(Inputs& inputs, const RecurrentProblem& p, const TensorTypes& types) {
  if (!p.initial) return;
  inputs.expect("the first h", types.state);
  if (p.kind == CellKind::lstm) inputs.expect("the first c", types.state);
}

std::vector<TensorType> infer(const Cell& cell, const std::vector<TensorType>& in, const Attrs& attrs) {
  Inputs inputs(cell.op, in,
                "X, W, R, perhaps B, with initial = 1 its first states and with lengths = 1 the lengths");
  const TensorType& x = inputs.next("X");
  const RecurrentProblem p = extents(cell, cell.op, x, attrs);
  const TensorTypes types = types_of(p, x.dtype);
  inputs.expect("W", types.w);
  inputs.expect("R", types.r);
  if (inputs.left() > further_inputs(p)) inputs.expect("B", types.b);
  expect_states(inputs, p, types);
  if (p.lengths) inputs.expect_lengths(p.batch);
  inputs.expect_end();
  std::vector<TensorType> out = {types.y, types.state};
  if (p.kind == CellKind::lstm) out.push_back(types.state);
  if (p.saves && p.saved_parts() == 0) reject("{} has nothing to save beside Y", cell.op);
  if (p.saves) out.push_back(types.saved);
  return out;
}

std::vector<TensorType> infer_grad(const Cell& cell, const std::vector<TensorType>& in, const Attrs& attrs) {
  Inputs inputs(cell.grad, in,
                "X, W, R, Y, what was saved, the first states, gradients and lengths, as its attributes say");
  const TensorType& x = inputs.next("X");
  const RecurrentProblem p = extents(cell, cell.grad, x, attrs);
  const TensorTypes types = types_of(p, x.dtype);
  inputs.expect("W", types.w);
  inputs.expect("R", types.r);
  inputs.expect("Y", types.y);
  if (p.saved_parts() > 0) inputs.expect("saved", types.saved);
  expect_states(inputs, p, types);
  if (!p.dy && !p.dy_h && !p.dy_c) reject("{}: none of dy, dy_h and dy_c is 1", cell.grad);
  if (p.dy) inputs.expect("dY", types.y);
  if (p.dy_h) inputs.expect("dY_h", types.state);
  if (p.dy_c) inputs.expect("dY_c", types.state);
  if (p.lengths) inputs.expect_lengths(p.batch);
  inputs.expect_end();
  std::vector<TensorType> out = {types.w, types.r};
  if (p.bias) out.push_back(types.b);
  if (p.dx) out.push_back(x);
  if (p.initial) out.push_back(types.state);
  if (p.initial && p.kind == CellKind::lstm) out.push_back(types.state);
  return out;
}

// One product for each gate with the input and with the last state; then gates and states, element by
// element.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const RecurrentProblem r = recurrent_problem(p);
  const bool lstm = r.kind == CellKind::lstm;
  const auto cells = static_cast<double>(p.outputs[0].shape.numel());
  const auto depth = static_cast<double>(r.input + r.hidden), gates = static_cast<double>(r.gates);
  // lstm: c' = f c + i g, h = o tanh(c'); gru: h' = (1 - z) g + z h, and r (R h)
  c.multiply_add = cells * (2 * gates * depth + (r.kind == CellKind::rnn ? 0 : 4));
  c.other = cells * (gates * (r.bias ? 2 : 1) + (lstm ? 1 : r.kind == CellKind::gru ? 2 : 0));
  c.special = cells * (lstm ? 5 : gates);
  return c;
}

// A product for each gate: of dW and dR, of the states' gradient, and of dX where that is wanted.
Cost cost_grad(const Problem& p) {
  Cost c = traffic(p);
  const RecurrentProblem r = recurrent_problem(p);
  const bool lstm = r.kind == CellKind::lstm;
  const auto cells = static_cast<double>(p.inputs[3].shape.numel());
  const auto depth = static_cast<double>(r.input * (r.dx ? 2 : 1) + 2 * r.hidden);
  const auto gates = static_cast<double>(r.gates);
  c.multiply_add = cells * (2 * gates * depth + (lstm ? 22 : r.kind == CellKind::gru ? 18 : 2));
  c.other = cells * (gates * (r.bias ? 2 : 1) + 2);
  c.special = lstm ? cells : 0;
  return c;
}

// Lets the forward node save what the gradient needs; returns that value.
ValueId saved_of(const GradientContext& c, const RecurrentProblem& p) {
  std::vector<Node> nodes = c.graph.nodes();
  Node& node = nodes.at(static_cast<std::size_t>(c.node));
  if (p.saves) return node.outputs.back();
  const TensorType& x = c.graph.value(c.input(0)).type;
  node.attrs.set("saves", std::int64_t{1});
  node.outputs.push_back(c.graph.add_value({.name = node.layer + "." + node.op + ".saved",
                                            .type = types_of(p, x.dtype).saved,
                                            .role = Role::activation,
                                            .producer = c.node,
                                            .init = {},
                                            .layer = node.layer}));
  const ValueId saved = node.outputs.back();
  c.graph.replace_nodes(std::move(nodes));
  return saved;
}

std::vector<ValueId> gradient(const Cell& cell, const GradientContext& c) {
  const RecurrentProblem p = recurrent_problem(c.graph.problem(c.node));
  const std::size_t states = p.kind == CellKind::lstm ? 2 : 1, first = p.bias ? 4 : 3;
  Attrs attrs = c.attrs();
  std::vector<ValueId> in = {c.input(0), c.input(1), c.input(2), c.output(0)};
  if (p.saved_parts() > 0) {
    in.push_back(saved_of(c, p));
    attrs.set("saves", std::int64_t{1});
  }
  for (std::size_t i = 0; p.initial && i < states; ++i) in.push_back(c.input(first + i));
  constexpr const char* kGiven[] = {"dy", "dy_h", "dy_c"};
  for (std::size_t i = 0; i < 1 + states; ++i)
    if (const ValueId given = c.output_gradients[i]; given != kNone) {
      in.push_back(given);
      attrs.set(kGiven[i], std::int64_t{1});
    }
  if (p.lengths) in.push_back(c.input(c.needed.size() - 1));
  if (p.bias) attrs.set("bias", std::int64_t{1});
  if (c.needed[0]) attrs.set("dx", std::int64_t{1});

  const std::vector<ValueId> d = c.emit_all(cell.grad, in, attrs);
  std::vector<ValueId> all(c.needed.size(), kNone);
  std::size_t next = 2;
  all[1] = d[0], all[2] = d[1];
  if (p.bias) all[3] = d[next++];
  if (c.needed[0]) all[0] = d[next++];
  for (std::size_t i = 0; p.initial && i < states; ++i) all[first + i] = d[next++];
  return all;
}

const Cell& cell_of(CellKind kind) {
  return kind == CellKind::lstm ? kLstm : kind == CellKind::gru ? kGru : kRnn;
}

template <const Cell& kCell>
OpSchema schema() {
  return {
      .name = std::string(kCell.op),
      .infer = [](const std::vector<TensorType>& in, const Attrs& attrs) { return infer(kCell, in, attrs); },
      .cost = cost,
      .gradient = [](const GradientContext& c) { return gradient(kCell, c); }};
}

template <const Cell& kCell>
OpSchema grad_schema() {
  return {.name = std::string(kCell.grad),
          .infer = [](const std::vector<TensorType>& in,
                      const Attrs& attrs) { return infer_grad(kCell, in, attrs); },
          .cost = cost_grad,
          .keeps_fp32 = kCell.kind == CellKind::rnn ? std::vector<int>{} : std::vector<int>{4}};
}

}  // namespace
}  // namespace recurrent_schema_cc

RecurrentProblem recurrent_problem(const Problem& problem) {
  using namespace recurrent_schema_cc;
  const std::string_view op = problem.op;
  const Cell& cell = cell_of(op.starts_with("lstm")  ? CellKind::lstm
                             : op.starts_with("gru") ? CellKind::gru
                                                     : CellKind::rnn);
  RecurrentProblem p = extents(cell, op, problem.inputs[0], problem.attrs);
  if (op == cell.op) p.bias = problem.inputs.size() == 4 + further_inputs(p);
  p.wide_lengths = p.lengths && problem.inputs.back().dtype == DType::i64;
  return p;
}

OpSchema recurrent_schema(CellKind kind) {
  using namespace recurrent_schema_cc;
  return kind == CellKind::lstm ? schema<kLstm>() : kind == CellKind::gru ? schema<kGru>() : schema<kRnn>();
}
OpSchema recurrent_grad_schema(CellKind kind) {
  using namespace recurrent_schema_cc;
  return kind == CellKind::lstm  ? grad_schema<kLstm>()
         : kind == CellKind::gru ? grad_schema<kGru>()
                                 : grad_schema<kRnn>();
}

}  // namespace headroom
