#pragma once

#include "ops/operator.h"

namespace headroom {

// Recurrent layers as ONNX has them. They have no kernel yet: networks with them can be read and their floor
// predicted.
//
// lstm(X, W, R [, B]; hidden_size, direction) -> Y, Y_h, Y_c
// gru(X, W, R [, B]; hidden_size, direction, linear_before_reset) -> Y, Y_h
//   X [seq, batch, input]; W [dirs, gates h, input]; R [dirs, gates h, h]; B [dirs, 2 gates h], where an lstm
//   has four gates (i, o, f, c) and a gru three (z, r, h). direction is "forward", "reverse" or
//   "bidirectional" (two dirs).
//   Y [seq, dirs, batch, h]; Y_h and Y_c [dirs, batch, h]
std::vector<Operator> recurrent_operators();

}  // namespace headroom
