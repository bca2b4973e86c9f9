#pragma once

#include "ops/operator.h"

namespace headroom {

// cast(x; to = "fp32", …) among fp64, fp32, int64, int32, uint8, int8 and bool; on a GPU fp16 and bf16 too.
// Floats become integers by dropping the fraction; what does not fit becomes the nearest integer that does,
// and NaN 0, on every machine. Integers that do not fit keep their low bits. Anything but 0 is true. Between
// floats the gradient is cast back; others have none. Between floats x may be multiplied on the way (scale),
// and so may the gradient on its way back (gradient_scale): how small gradients get through fp16. With
// through = "fp16" or "bf16" the result is rounded to that type on the way, and the gradient is not: networks
// with 16-bit casts run in wider types. cast_all(x…; to, scale): the same of several tensors of one float
// type. A pass makes it of many small casts.
std::vector<Operator> cast_operators();

OpSchema cast_schema();
OpSchema cast_all_schema();

std::vector<Case> cast_cases();
std::vector<Case> cast_all_cases();

}  // namespace headroom
