#pragma once

// The kernels of CPUs are in this program several times, compiled for different instructions
// (cmake/levels.cmake). The processor decides which of them run.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct CpuLevel {
  std::string_view name;          // "v3"; "native", "any": one level, compiled like the whole program
  std::string_view instructions;  // "AVX2, FMA"
  int vector_bytes = 16;          // width of a SIMD register
  bool here = true;               // whether this processor and its operating system have it
};

// Those that this program was built with, lowest first. The first one runs wherever the program does.
std::span<const CpuLevel> cpu_levels();
std::vector<std::string_view> cpu_level_names();
// The highest level of this processor, whether it was built or not.
std::string_view processor_level();
// The one whose kernels run: the highest that is here, unless another one was named.
const CpuLevel& used_cpu_level();
// Rejects a level that is not in this program or not in this processor. Plans made before keep their kernels.
void use_cpu_level(std::string_view name);

// "for level v3 (AVX2, FMA); built in: v2, v3; this processor: v4"
std::string cpu_levels_text();

}  // namespace headroom
