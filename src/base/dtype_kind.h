#pragma once

// Apart from dtype.h because device code sees it too, and the device compiler reads no more headers than it
// must.

#include <cstdint>

namespace headroom {

// Every element type the program will ever store; kernels say which of them they take.
enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };

}  // namespace headroom
