#pragma once

#include "ops/operator.h"

namespace headroom {

// add, sub, mul, div, pow, maximum, minimum and mod of (a, b), each stretched to the other's shape as in
// NumPy and ONNX. Equal shapes are a residual connection, or the sum of the gradients of a value used twice.
//   div by 0 and pow of a negative number to a broken exponent follow IEEE; pow(x, 0) = pow(1, y) = 1.
//   maximum and minimum are NaN where one of a and b is; at a tie the gradient goes to a.
//   mod has the sign of b, also where it is 0, or with fmod = 1 that of a.
// All but pow take int64 and int32 as well: they wrap around, div drops the fraction, and div and mod by 0
// are 0.
// bit_and, bit_or, bit_xor, shift_left and shift_right(; logical = 0) take int64 and int32 alone. A right
// shift repeats the sign; a logical one brings in zeros. A shift by all bits or more, or by a negative
// number, leaves nothing but the sign. pow_grad_base(dy, x, e) = dy e x^(e-1), and 0 where e is 0.
// pow_grad_exponent(dy, x, y) = dy y log x, and 0 where x is 0 and y = x^e finite.
// Both are of the shape of dy; the gradient sums them over what was repeated.
std::vector<Operator> binary_operators();

OpSchema binary_schema(const std::string& name);
OpSchema pow_grad_schema(const std::string& name);
OpSchema bits_schema(const std::string& name);

std::vector<Case> binary_cases(std::string_view op);  // of any of them

}  // namespace headroom
