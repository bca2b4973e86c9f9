#pragma once

// Extensions of the instruction set: those that the compiler was allowed to use in this program, and those of
// the processor that runs it. Plain C++ without code in this header: some of its readers are compiled for any
// processor, and an inline function of theirs could be replaced by one that is not.

#include <cstdint>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

// X(name, macro of the compiler, is it in this processor), in the order in which processors got them.
#if defined(__x86_64__)
#define HEADROOM_EXTENSIONS(X)                                          \
  X("sse4.2", __SSE4_2__, __builtin_cpu_supports("sse4.2"))             \
  X("popcnt", __POPCNT__, __builtin_cpu_supports("popcnt"))             \
  X("avx", __AVX__, __builtin_cpu_supports("avx"))                      \
  X("fma", __FMA__, __builtin_cpu_supports("fma"))                      \
  X("avx2", __AVX2__, __builtin_cpu_supports("avx2"))                   \
  X("bmi", __BMI__, __builtin_cpu_supports("bmi"))                      \
  X("bmi2", __BMI2__, __builtin_cpu_supports("bmi2"))                   \
  X("avx512f", __AVX512F__, __builtin_cpu_supports("avx512f"))          \
  X("avx512cd", __AVX512CD__, __builtin_cpu_supports("avx512cd"))       \
  X("avx512bw", __AVX512BW__, __builtin_cpu_supports("avx512bw"))       \
  X("avx512dq", __AVX512DQ__, __builtin_cpu_supports("avx512dq"))       \
  X("avx512vl", __AVX512VL__, __builtin_cpu_supports("avx512vl"))       \
  X("avx512vbmi", __AVX512VBMI__, __builtin_cpu_supports("avx512vbmi")) \
  X("avx512vnni", __AVX512VNNI__, __builtin_cpu_supports("avx512vnni"))
#elif defined(__aarch64__)
#define HEADROOM_EXTENSIONS(X)                                                                   \
  X("atomics", __ARM_FEATURE_ATOMICS, (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0)                \
  X("asimdhp", __ARM_FEATURE_FP16_VECTOR_ARITHMETIC, (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0) \
  X("asimddp", __ARM_FEATURE_DOTPROD, (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0)                \
  X("sve", __ARM_FEATURE_SVE, (getauxval(AT_HWCAP) & HWCAP_SVE) != 0)                            \
  X("sve2", __ARM_FEATURE_SVE2, (getauxval(AT_HWCAP2) & HWCAP2_SVE2) != 0)
#else
#define HEADROOM_EXTENSIONS(X) X("none", HEADROOM_NO_EXTENSION, false)
#endif

namespace headroom {

#define HEADROOM_NAME(name, macro, here) name,
inline constexpr const char* kExtensions[] = {HEADROOM_EXTENSIONS(HEADROOM_NAME)};
#undef HEADROOM_NAME

using ExtensionSet = std::uint32_t;  // bit i: kExtensions[i]

// Data, not a function: it can be read before anything of the program has run.
extern const ExtensionSet program_extensions;

ExtensionSet processor_extensions();

}  // namespace headroom
