#pragma once

#include <string>

#include "base/json.h"

namespace headroom::cli {

// What `doctor` says about the processor and the instructions that this program uses of it.
std::string instructions_text();  // "built for sse4.2 popcnt; the processor also has avx fma"
std::string products_text();      // "register tiles of avx512, 12 x 32 in fp32; also here: avx2, sse2"
std::string
matrix_units_text();     // "bf16 by amx_bf16, int8 by amx_int8; the processor has: AMX-BF16, AMX-INT8"
bool best_level_used();  // false: CPU kernels of a higher level could run here
Json cpu_json();

}  // namespace headroom::cli
