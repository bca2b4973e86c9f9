#pragma once

#include "ops/operator.h"
#include "ops/recurrent/shape.h"

namespace headroom {

// Recurrent layers as ONNX has them.
//
// lstm(X, W, R [, B] [, h0, c0] [, lengths]; hidden_size, direction, initial, lengths, saves)
//   -> Y, Y_h, Y_c [, saved]
// gru(X, W, R [, B] [, h0] [, lengths]; the same, linear_before_reset) -> Y, Y_h [, saved]
// rnn(X, W, R [, B] [, h0] [, lengths]; the same but saves, activation = tanh|relu) -> Y, Y_h
//   X [seq, batch, input]; W [dirs, gates h, input]; R [dirs, gates h, h]; B [dirs, 2 gates h], where an lstm
//   has four gates (i, o, f, c), a gru three (z, r, h) and an rnn one. direction is "forward", "reverse" or
//   "bidirectional" (two dirs). With initial = 1 the states before the first step [dirs, batch, h] come next.
//   With lengths = 1 the last input [batch], int32 or int64, says how many steps each item has: at the places
//   after them Y is 0 and the states stay as they are, so that the reverse direction begins at an item's own
//   end.
//   Y [seq, dirs, batch, h]; Y_h and Y_c [dirs, batch, h]
//   lstm  c' = f c + i g, h' = o tanh(c')
//   gru   h' = (1 - z) g + z h, g = tanh(W x + R (r h) + biases), or with linear_before_reset = 1
//         g = tanh(W x + Wb + r (R h + Rb))
//   With saves = 1, which the gradient sets, saved [dirs, seq, batch, parts h] keeps of each step what the
//   gradient needs: i, o, f, g and c of an lstm, z, r and g of a gru and also R h + Rb with
//   linear_before_reset. It is fp32 beside 16-bit types. An rnn needs nothing but Y.
//
// lstm_grad, gru_grad, rnn_grad(X, W, R, Y [, saved] [, h0 [, c0]] [, dY] [, dY_h] [, dY_c] [, lengths];
//   the attributes above; bias, dy, dy_h, dy_c, dx)
//   -> dW, dR [, dB] [, dX] [, dh0 [, dc0]]
//   dy, dy_h and dy_c = 1 say which gradients are given; bias = 1 and dx = 1 ask for dB and dX.
std::vector<Operator> recurrent_operators();

RecurrentProblem recurrent_problem(const Problem& problem);  // of an operator or its gradient

template <class T, class Wide = T>
RecurrentTensors<T, Wide> recurrent_tensors(const RecurrentProblem& p, const LaunchArgs& a) {
  std::size_t in = 3, out = 2;
  const bool lstm = p.kind == CellKind::lstm;
  const auto next = [&](bool there) { return there ? a.in<T>(in++) : nullptr; };
  RecurrentTensors<T, Wide> t{};
  t.x = a.in<T>(0), t.w = a.in<T>(1), t.r = a.in<T>(2);
  t.b = next(p.bias), t.h0 = next(p.initial), t.c0 = next(p.initial && lstm);
  t.lengths = {next(p.lengths), p.wide_lengths, p.seq};
  t.y = a.out<T>(0), t.y_h = a.out<T>(1), t.y_c = lstm ? a.out<T>(out++) : nullptr;
  t.saved = p.saves ? a.out<Wide>(out) : nullptr;
  return t;
}

template <class T, class Wide = T>
RecurrentGradTensors<T, Wide> recurrent_grad_tensors(const RecurrentProblem& p, const LaunchArgs& a) {
  std::size_t in = p.saves ? 5 : 4, out = 2;
  const bool lstm = p.kind == CellKind::lstm;
  const auto next = [&](bool there) { return there ? a.in<T>(in++) : nullptr; };
  const auto result = [&](bool there) { return there ? a.out<T>(out++) : nullptr; };
  RecurrentGradTensors<T, Wide> t{};
  t.x = a.in<T>(0), t.w = a.in<T>(1), t.r = a.in<T>(2), t.y = a.in<T>(3);
  t.saved = p.saves ? a.in<Wide>(4) : nullptr;
  t.h0 = next(p.initial), t.c0 = next(p.initial && lstm);
  t.dy = next(p.dy), t.dy_h = next(p.dy_h), t.dy_c = next(p.dy_c);
  t.lengths = {next(p.lengths), p.wide_lengths, p.seq};
  t.dw = a.out<T>(0), t.dr = a.out<T>(1);
  t.db = result(p.bias), t.dx = result(p.dx), t.dh0 = result(p.initial), t.dc0 = result(p.initial && lstm);
  return t;
}

OpSchema recurrent_schema(CellKind kind);
OpSchema recurrent_grad_schema(CellKind kind);
std::vector<Case> recurrent_cases(CellKind kind);
std::vector<Case> recurrent_grad_cases(CellKind kind);

Launcher recurrent_reference(const Problem& problem, const LaunchContext&);
Launcher recurrent_grad_reference(const Problem& problem, const LaunchContext&);
Kernel recurrent_cpu_steps();
Kernel recurrent_grad_cpu_steps();
Kernel recurrent_cuda_persistent();
Kernel recurrent_grad_cuda_persistent();
Kernel recurrent_cuda_steps();
Kernel recurrent_grad_cuda_steps();

}  // namespace headroom
