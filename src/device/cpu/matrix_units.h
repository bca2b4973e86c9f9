#pragma once

#include <string>

namespace headroom {

// Instructions for products of small types that this processor has and its operating system allows.
struct CpuMatrixUnits {
  bool avx512_bf16 = false;  // x86: dot products of two bf16
  bool amx_bf16 = false;     // x86: tiles of bf16
  bool amx_int8 = false;     // x86: tiles of bytes
  bool arm_dot = false;      // Arm: dot products of four bytes
  bool arm_bf16 = false;     // Arm: products of 2 x 4 by 4 x 2 bf16
  bool arm_i8mm = false;     // Arm: products of 2 x 8 by 8 x 2 bytes

  bool bf16() const { return avx512_bf16 || arm_bf16; }  // processors with AMX have AVX512-BF16, too
  std::string text() const;                              // "AVX512-BF16, AMX-BF16, AMX-INT8"; "none"
};

// Asked once. Linux gives tiles to programs that request them: the first call does.
const CpuMatrixUnits& cpu_matrix_units();

}  // namespace headroom
