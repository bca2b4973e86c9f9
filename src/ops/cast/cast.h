#pragma once

#include "ops/operator.h"

namespace headroom {

// cast(x; to = "fp32", …) among fp64, fp32, int64, int32, uint8 and bool. Floats become integers by dropping
// the fraction; what does not fit becomes the nearest integer that does, and NaN 0, on every machine.
// Integers that do not fit keep their low bits. Anything but 0 is true. Between floats the gradient is cast
// back; others have none.
std::vector<Operator> cast_operators();

}  // namespace headroom
