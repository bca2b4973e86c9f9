#pragma once

#include <cstdint>

#include "base/dtype_kind.h"

namespace headroom {

// The 16-bit float types on the host, which only stores them: rounds to nearest, ties to even; NaN stays NaN,
// and too large values become infinite.
std::uint16_t half_bits(DType dtype, double value);  // f16 or bf16
double half_value(DType dtype, std::uint16_t bits);

}  // namespace headroom
