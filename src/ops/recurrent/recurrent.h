#pragma once

#include "ops/operator.h"

namespace headroom {

// Recurrent layers as ONNX has them; they have no gradient.
//
// lstm(X, W, R [, B] [, h0, c0]; hidden_size, direction, initial) -> Y, Y_h, Y_c
// gru(X, W, R [, B] [, h0]; hidden_size, direction, initial, linear_before_reset) -> Y, Y_h
// rnn(X, W, R [, B] [, h0]; hidden_size, direction, initial, activation = tanh|relu) -> Y, Y_h
//   X [seq, batch, input]; W [dirs, gates h, input]; R [dirs, gates h, h]; B [dirs, 2 gates h], where an lstm
//   has four gates (i, o, f, c), a gru three (z, r, h) and an rnn one. direction is "forward", "reverse" or
//   "bidirectional" (two dirs). With initial = 1 the states before the first step [dirs, batch, h] come last.
//   Y [seq, dirs, batch, h]; Y_h and Y_c [dirs, batch, h]
//   lstm  c' = f c + i g, h' = o tanh(c')
//   gru   h' = (1 - z) g + z h, g = tanh(W x + R (r h) + biases), or with linear_before_reset = 1
//         g = tanh(W x + Wb + r (R h + Rb))
std::vector<Operator> recurrent_operators();

enum class CellKind { lstm, gru, rnn };

struct RecurrentProblem {
  CellKind kind = CellKind::lstm;
  std::int64_t gates = 4, seq = 1, batch = 1, input = 1, hidden = 1, dirs = 1;
  bool bias = false, initial = false;
  bool reversed = false;  // the first direction runs backwards; a second one always does
  bool linear_before_reset = false, relu = false;

  std::int64_t cells() const { return batch * hidden; }
  std::int64_t rows() const { return gates * hidden; }
  std::size_t h0() const { return bias ? 4 : 3; }
  bool backwards(std::int64_t dir) const { return reversed || dir == 1; }
  // The place in X and Y of step `t` of a direction, and of the step before it.
  std::int64_t place(std::int64_t dir, std::int64_t t) const { return backwards(dir) ? seq - 1 - t : t; }
};
RecurrentProblem recurrent_problem(const Problem& problem);

Launcher recurrent_reference(const Problem& problem, const LaunchContext&);
Launcher recurrent_steps(const Problem& problem, const LaunchContext&);
std::size_t recurrent_steps_workspace(const Problem& problem, const Target&);
Work recurrent_steps_work(const Problem& problem, const Target& target);

Launcher prepare_recurrent_cuda(const Problem& problem, const LaunchContext&);
std::size_t recurrent_cuda_workspace(const Problem& problem, const Target&);
Work recurrent_cuda_work(const Problem& problem, const Target& target);

}  // namespace headroom
