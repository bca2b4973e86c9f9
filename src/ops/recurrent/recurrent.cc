#include "ops/recurrent/recurrent.h"

#include "base/text.h"
#include "ops/expect.h"

namespace headroom {
namespace {

struct Cell {
  std::string_view op;
  CellKind kind;
  std::int64_t gates;
};
constexpr Cell kLstm{"lstm", CellKind::lstm, 4}, kGru{"gru", CellKind::gru, 3}, kRnn{"rnn", CellKind::rnn, 1};

void expect_shape(const Cell& cell, std::string_view name, const TensorType& given, const TensorType& want) {
  if (given != want)
    reject("{}: {} is {} {}, not {} {}", cell.op, name, name_of(given.dtype), given.shape.str(),
           name_of(want.dtype), want.shape.str());
}

std::int64_t directions(const Cell& cell, const Attrs& attrs) {
  const std::vector<std::string> known = {"forward", "reverse", "bidirectional"};
  const std::string direction = attrs.text("direction", "forward");
  if (std::find(known.begin(), known.end(), direction) == known.end())
    reject(nearest(direction, known), "{}: unknown direction '{}'", cell.op, direction);
  return direction == "bidirectional" ? 2 : 1;
}

std::vector<TensorType> infer(const Cell& cell, const std::vector<TensorType>& in, const Attrs& attrs) {
  const bool lstm = cell.kind == CellKind::lstm, initial = attrs.integer("initial") == 1;
  const std::size_t last_states = initial ? (lstm ? 2 : 1) : 0;
  if (in.size() != 3 + last_states && in.size() != 4 + last_states)
    reject("{} takes X, W, R, perhaps B and with initial = 1 its first states, not {} inputs", cell.op,
           in.size());
  expect_not_empty(cell.op, in);
  const TensorType& x = in[0];
  expect_float(cell.op, x);
  expect_rank(cell.op, x, 3, "X of shape [seq, batch, input]");
  const std::int64_t h = attrs.integer("hidden_size"), dirs = directions(cell, attrs), rows = cell.gates * h;
  if (h < 1) reject("{}: hidden_size is {}", cell.op, h);
  if (const std::string f = attrs.text("activation", "tanh"); f != "tanh" && f != "relu")
    reject("{}: activation is '{}', not tanh or relu", cell.op, f);
  expect_shape(cell, "W", in[1], {{dirs, rows, x.shape[2]}, x.dtype});
  expect_shape(cell, "R", in[2], {{dirs, rows, h}, x.dtype});
  const TensorType last{{dirs, x.shape[1], h}, x.dtype};
  for (std::size_t i = 0; i < last_states; ++i)
    expect_shape(cell, i == 0 ? "the first h" : "the first c", in[in.size() - last_states + i], last);
  if (in.size() == 4 + last_states) expect_shape(cell, "B", in[3], {{dirs, 2 * rows}, x.dtype});
  std::vector<TensorType> out = {{{x.shape[0], dirs, x.shape[1], h}, x.dtype}, last};
  if (lstm) out.push_back(last);
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

// A state of the last step is made of the sums of all steps before it.
double sum_length(const Problem& p) {
  const RecurrentProblem r = recurrent_problem(p);
  return static_cast<double>(4 * r.seq * (r.input + r.hidden));
}

std::vector<Case> cases_of(const Cell& cell) {
  struct Trial {
    Tier tier;
    std::int64_t seq, batch, input, hidden;
    const char* direction;
    bool bias = true, initial = false, other = false;  // other: linear_before_reset, or relu
  };
  std::vector<Case> list;
  for (const Trial& t : std::vector<Trial>{{Tier::ci, 1, 1, 1, 1, "forward", false},
                                           {Tier::ci, 5, 3, 4, 6, "forward"},
                                           {Tier::ci, 5, 3, 4, 6, "forward", true, true},
                                           {Tier::ci, 4, 2, 3, 5, "reverse", true, false, true},
                                           {Tier::ci, 4, 2, 3, 5, "reverse", false, true},
                                           {Tier::ci, 6, 2, 7, 3, "bidirectional", true, true, true},
                                           {Tier::smoke, 9, 4, 33, 40, "bidirectional", true, true},
                                           {Tier::smoke, 3, 1, 70, 65, "forward", true, false, true},
                                           {Tier::perf, 64, 16, 256, 256, "forward"},
                                           {Tier::perf, 128, 1, 512, 512, "bidirectional"}}) {
    const std::int64_t dirs = t.direction == std::string_view("bidirectional") ? 2 : 1,
                       rows = cell.gates * t.hidden;
    Case c{.tier = t.tier,
           .inputs = {{t.seq, t.batch, t.input}, {dirs, rows, t.input}, {dirs, rows, t.hidden}},
           .attrs = {{"hidden_size", t.hidden}, {"direction", std::string(t.direction)}}};
    if (t.bias) c.inputs.push_back({dirs, 2 * rows});
    if (t.initial) {
      c.attrs.set("initial", std::int64_t{1});
      for (int i = 0; i < (cell.kind == CellKind::lstm ? 2 : 1); ++i)
        c.inputs.push_back({dirs, t.batch, t.hidden});
    }
    if (t.other && cell.kind == CellKind::gru) c.attrs.set("linear_before_reset", std::int64_t{1});
    if (t.other && cell.kind == CellKind::rnn) c.attrs.set("activation", std::string("relu"));
    list.push_back(c);
  }
  return list;
}

template <const Cell& kCell>
Operator make() {
  return {.schema = {.name = std::string(kCell.op),
                     .infer = [](const std::vector<TensorType>& in,
                                 const Attrs& attrs) { return infer(kCell, in, attrs); },
                     .cost = cost},
          .kernels = {{.name = "cuda:steps",
                       .device = DeviceKind::cuda,
                       .accepts = accepts_cuda_floats,
                       .work = recurrent_cuda_work,
                       .prepare = HEADROOM_CUDA(prepare_recurrent_cuda),
                       .workspace = recurrent_cuda_workspace},
                      {.name = "cpu:steps",
                       .work = recurrent_steps_work,
                       .prepare = recurrent_steps,
                       .workspace = recurrent_steps_workspace},
                      {.name = "reference", .prepare = recurrent_reference}},
          .cases = cases_of(kCell),
          .sum_length = sum_length};
}

}  // namespace

RecurrentProblem recurrent_problem(const Problem& p) {
  const Cell& cell = p.op == kLstm.op ? kLstm : p.op == kGru.op ? kGru : kRnn;
  const Shape &x = p.inputs[0].shape, &r = p.inputs[2].shape;
  const bool initial = p.attrs.integer("initial") == 1;
  const std::size_t states = initial ? (cell.kind == CellKind::lstm ? 2 : 1) : 0;
  return {.kind = cell.kind,
          .gates = cell.gates,
          .seq = x[0],
          .batch = x[1],
          .input = x[2],
          .hidden = r[2],
          .dirs = r[0],
          .bias = p.inputs.size() == 4 + states,
          .initial = initial,
          .reversed = p.attrs.text("direction") == "reverse",
          .linear_before_reset = p.attrs.integer("linear_before_reset") == 1,
          .relu = p.attrs.text("activation") == "relu"};
}

// c of an lstm, z and r h of a gru, in fp32 or fp64.
std::size_t recurrent_cuda_workspace(const Problem& p, const Target&) {
  const RecurrentProblem r = recurrent_problem(p);
  const std::size_t size = p.outputs[0].dtype == DType::f64 ? 8 : 4;
  return (r.kind == CellKind::lstm  ? 1
          : r.kind == CellKind::gru ? 2
                                    : 0) *
         static_cast<std::size_t>(r.dirs * r.cells()) * size;
}

// A launch for each step, two for a gru that resets before the product; both matrices are read at each.
Work recurrent_cuda_work(const Problem& p, const Target& target) {
  const RecurrentProblem r = recurrent_problem(p);
  Work work = least_work(p, target);
  work.with("recurrent.steps", ordinary_unit(p.outputs[0].dtype));
  work.main().count = static_cast<int>(r.seq) * (r.kind == CellKind::gru && !r.linear_before_reset ? 2 : 1);
  return work.add_bytes(static_cast<double>(r.seq - 1) *
                        static_cast<double>(p.inputs[1].bytes() + p.inputs[2].bytes()));
}

std::vector<Operator> recurrent_operators() { return {make<kLstm>(), make<kGru>(), make<kRnn>()}; }

}  // namespace headroom
