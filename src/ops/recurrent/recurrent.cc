#include "ops/recurrent/recurrent.h"

#include "base/text.h"
#include "ops/expect.h"

namespace headroom {
namespace {

struct Cell {
  std::string_view op;
  std::int64_t gates;
};
constexpr Cell kLstm{"lstm", 4}, kGru{"gru", 3};

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
  if (in.size() != 3 && in.size() != 4)
    reject("{} takes X, W, R and perhaps B, not {} inputs", cell.op, in.size());
  expect_not_empty(cell.op, in);
  const TensorType& x = in[0];
  expect_float(cell.op, x);
  expect_rank(cell.op, x, 3, "X of shape [seq, batch, input]");
  const std::int64_t h = attrs.integer("hidden_size"), dirs = directions(cell, attrs), rows = cell.gates * h;
  if (h < 1) reject("{}: hidden_size is {}", cell.op, h);
  expect_shape(cell, "W", in[1], {{dirs, rows, x.shape[2]}, x.dtype});
  expect_shape(cell, "R", in[2], {{dirs, rows, h}, x.dtype});
  if (in.size() == 4) expect_shape(cell, "B", in[3], {{dirs, 2 * rows}, x.dtype});
  const TensorType last{{dirs, x.shape[1], h}, x.dtype};
  std::vector<TensorType> out = {{{x.shape[0], dirs, x.shape[1], h}, x.dtype}, last};
  if (cell.gates == kLstm.gates) out.push_back(last);
  return out;
}

// One product for each gate with the input and with the last state; then gates and states, element by
// element.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const bool lstm = p.op == kLstm.op;
  const auto cells = static_cast<double>(p.outputs[0].shape.numel());
  const auto depth = static_cast<double>(p.inputs[1].shape[2] + p.inputs[2].shape[2]);
  const double gates = lstm ? 4 : 3;
  // lstm: c' = f c + i g, h = o tanh(c'); gru: h' = (1 - z) g + z h, and r (R h)
  c.multiply_add = cells * (2 * gates * depth + 4);
  c.other = cells * (gates * (p.inputs.size() == 4 ? 2 : 1) + (lstm ? 1 : 2));
  c.special = cells * (lstm ? 5 : 3);
  return c;
}

template <const Cell& kCell>
Operator make() {
  return {.schema = {.name = std::string(kCell.op),
                     .infer = [](const std::vector<TensorType>& in,
                                 const Attrs& attrs) { return infer(kCell, in, attrs); },
                     .cost = cost},
          .kernels = {},
          .cases = {}};
}

}  // namespace

std::vector<Operator> recurrent_operators() { return {make<kLstm>(), make<kGru>()}; }

}  // namespace headroom
