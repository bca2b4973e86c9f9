#pragma once

// Separate from dtype.h because device code includes it too, and the device compiler should read few headers.

#include <cstdint>

namespace headroom {

// Every element type the program stores; kernels say which of them they support.
enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean, i8 };

}  // namespace headroom
