#include "ops/cpu/int8_tile.h"

#include <cstring>
#include <type_traits>
#include <vector>

#include "device/cpu/matrix_units.h"
#include "ops/cpu/int8_counts.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include "ops/cpu/int8_amx.h"
#elif defined(__aarch64__)
#include "ops/cpu/int8_arm.h"
#endif

namespace headroom::int8 {
namespace cpu_int8_tile_cc {
namespace {

using PanelByte = std::conditional_t<kSignedPanel, std::int8_t, std::uint8_t>;

void plain(int count, int columns, std::int64_t groups, const std::int8_t* rows, const std::uint8_t* panel,
           std::int32_t* sums) {
  for (int r = 0; r < count; ++r) {
    std::uint32_t sum[kPanel] = {};  // wraps around
    const std::int8_t* row = rows + r * groups * 4;
    for (std::int64_t g = 0; g < groups; ++g)
      for (int j = 0; j < columns; ++j) {
        std::int32_t four = 0;
        for (int t = 0; t < 4; ++t)
          four += row[4 * g + t] * static_cast<PanelByte>(panel[(g * kPanel + j) * 4 + t]);
        sum[j] += static_cast<std::uint32_t>(four);
      }
    std::memcpy(sums + r * kPanel, sum, sizeof sum);
  }
}

#if defined(__x86_64__)
inline std::int32_t four_of(const std::int8_t* from) {
  std::int32_t four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

template <int kCount, int kVectors>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void rows_avx512(std::int64_t groups,
                                                                        const std::int8_t* rows,
                                                                        const std::uint8_t* panel,
                                                                        std::int32_t* sums) {
  __m512i sum[kCount][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_si512();
  for (std::int64_t g = 0; g < groups; ++g) {
    __m512i b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) b[v] = _mm512_load_si512(panel + g * kPanel * 4 + v * 64);
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) {
      const __m512i a = _mm512_set1_epi32(four_of(rows + (r * groups + g) * 4));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], b[v], a);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm512_store_si512(sums + r * kPanel + v * 16, sum[r][v]);
}

void avx512_vnni(int count, int columns, std::int64_t groups, const std::int8_t* rows,
                 const std::uint8_t* panel, std::int32_t* sums) {
  dispatch_count<kRows>(count, [&]<int kCount>() {
    dispatch_count<kPanel / 16>((columns + 15) / 16, [&]<int kVectors>() {
      rows_avx512<kCount, kVectors>(groups, rows, panel, sums);
    });
  });
}

// An empty instruction that the compiler must respect: a value that changed.
#define HEADROOM_CHANGED(v) asm volatile("" : "+v"(v))

__attribute__((target("avx512f,avx512vnni"))) void chains_avx512(std::int64_t rounds) {
  __m512i sum[kChains] = {}, y = _mm512_setzero_si512();
  HEADROOM_CHANGED(y);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) HEADROOM_CHANGED(sum[i]);
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sum[i] = _mm512_dpbusd_epi32(sum[i], y, y);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) HEADROOM_CHANGED(sum[i]);
}

__attribute__((target("avx2,avxvnni"))) void chains_avx(std::int64_t rounds) {
  __m256i sum[kChains] = {}, y = _mm256_setzero_si256();
  HEADROOM_CHANGED(y);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) HEADROOM_CHANGED(sum[i]);
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sum[i] = _mm256_dpbusd_avx_epi32(sum[i], y, y);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) HEADROOM_CHANGED(sum[i]);
}

// Sixteen registers: half a panel for up to three rows at a time.
template <int kCount>
__attribute__((target("avx2,avxvnni"))) void rows_avx(std::int64_t groups, const std::int8_t* rows,
                                                      const std::uint8_t* panel, std::int32_t* sums) {
  constexpr int kVectors = 4;
  __m256i sum[kCount][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm256_setzero_si256();
  for (std::int64_t g = 0; g < groups; ++g) {
    __m256i a[kCount];
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r) a[r] = _mm256_set1_epi32(four_of(rows + (r * groups + g) * 4));
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel + g * kPanel * 4 + v * 32));
#pragma GCC unroll 4
      for (int r = 0; r < kCount; ++r) sum[r][v] = _mm256_dpbusd_avx_epi32(sum[r][v], b, a[r]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + r * kPanel + v * 8), sum[r][v]);
}

void avx_vnni(int count, int columns, std::int64_t groups, const std::int8_t* rows, const std::uint8_t* panel,
              std::int32_t* sums) {
  constexpr int kStep = 3, kHalf = kPanel / 2;
  for (int r = 0; r < count; r += kStep)
    for (int half = 0; half * kHalf < columns; ++half)
      dispatch_count<kStep>(count - r, [&]<int kCount>() {
        rows_avx<kCount>(groups, rows + r * groups * 4, panel + half * kHalf * 4,
                         sums + r * kPanel + half * kHalf);
      });
}
#endif

#if defined(__x86_64__)
// Not every compiler knows the name of this feature.
bool has_avx_vnni() {
  constexpr unsigned kLeaf = 7, kSubleaf = 1, kBit = 1U << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(kLeaf, kSubleaf, &a, &b, &c, &d) != 0 &&
         (a & kBit) != 0;
}
#endif

std::vector<Version> supported() {
  std::vector<Version> list;
#if defined(__x86_64__)
  if (cpu_matrix_units().amx_int8)
    list.push_back({amx_tile, "amx_int8", kMaxRows, chains_amx, 4 * 16 * 16 * 64});
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"))
    list.push_back({avx512_vnni, "avx512_vnni", kRows, chains_avx512, kChains * 64});
  if (has_avx_vnni()) list.push_back({avx_vnni, "avx_vnni", kRows, chains_avx, kChains * 32});
#elif defined(__aarch64__)
  if (cpu_matrix_units().arm_i8mm) list.push_back({i8mm, "i8mm", kRows, chains_i8mm, kChains * 32});
  if (cpu_matrix_units().arm_dot) list.push_back({dotprod, "dotprod", kRows, chains_dotprod, kChains * 16});
#endif
  list.push_back({plain, "plain"});
  return list;
}

}  // namespace
}  // namespace cpu_int8_tile_cc

std::span<const Version> versions() {
  using namespace cpu_int8_tile_cc;
  static const std::vector<Version> list = supported();
  return list;
}

}  // namespace headroom::int8
