#include "device/cpu/matrix_units.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace headroom {
namespace {

#if defined(__x86_64__)
// The state of tiles is large, so Linux saves it only for programs that asked for it (since 5.16).
bool tiles_allowed() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuMatrixUnits ask_processor() {
  constexpr unsigned kLeaf = 7, kAmxBf16 = 1U << 22, kAmxTile = 1U << 24, kAmxInt8 = 1U << 25,
                     kAvx512Bf16 = 1U << 5;
  CpuMatrixUnits units;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  if (!avx512 || __get_cpuid_count(kLeaf, 1, &a, &b, &c, &d) == 0) return units;
  units.avx512_bf16 = (a & kAvx512Bf16) != 0;
  if (__get_cpuid_count(kLeaf, 0, &a, &b, &c, &d) == 0 || (d & kAmxTile) == 0 || !tiles_allowed())
    return units;
  units.amx_bf16 = units.avx512_bf16 && (d & kAmxBf16) != 0;
  units.amx_int8 = (d & kAmxInt8) != 0;
  return units;
}
#elif defined(__aarch64__)
// Bits of Linux; older headers do not name all of them.
CpuMatrixUnits ask_processor() {
  constexpr unsigned long kDot = 1UL << 20, kI8mm = 1UL << 13, kBf16 = 1UL << 14;
  const unsigned long first = ::getauxval(AT_HWCAP), second = ::getauxval(AT_HWCAP2);
  CpuMatrixUnits units;
  units.arm_dot = (first & kDot) != 0;
  units.arm_bf16 = (second & kBf16) != 0;
  units.arm_i8mm = (second & kI8mm) != 0;
  return units;
}
#else
CpuMatrixUnits ask_processor() { return {}; }
#endif

}  // namespace

std::string CpuMatrixUnits::text() const {
  std::string names;
  const auto add = [&](bool there, const char* name) {
    if (there) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add(avx512_bf16, "AVX512-BF16");
  add(amx_bf16, "AMX-BF16");
  add(amx_int8, "AMX-INT8");
  add(arm_dot, "DotProd");
  add(arm_bf16, "BF16");
  add(arm_i8mm, "I8MM");
  return names.empty() ? "none" : names;
}

const CpuMatrixUnits& cpu_matrix_units() {
  static const CpuMatrixUnits units = ask_processor();
  return units;
}

}  // namespace headroom
