#include "ops/cpu/bf16_tile.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "device/cpu/matrix_units.h"
#if defined(__x86_64__)
#include "ops/cpu/amx_config.h"
#include "ops/cpu/bf16_pack.h"
#include "ops/cpu/bf16_parts.h"
#elif defined(__aarch64__)
#include "ops/cpu/bf16_mmla.h"
#endif

namespace headroom::bf16 {
namespace cpu_bf16_tile_cc {
namespace {

#if defined(__x86_64__)
constexpr std::int64_t kSide = 32;  // of a tile of AMX: two registers each way

__attribute__((target("avx512f"))) inline void store_row(__m512 sum, __mmask16 mask, float alpha, float beta,
                                                         float* c) {
  __m512 scaled = _mm512_mul_ps(_mm512_set1_ps(alpha), sum);
  if (beta != 0) scaled = _mm512_fmadd_ps(_mm512_set1_ps(beta), _mm512_maskz_loadu_ps(mask, c), scaled);
  _mm512_mask_storeu_ps(c, mask, scaled);
}

// Tiles 0 to 3 hold the sums, 4 and 5 rows of A, 6 and 7 columns of B. A serves many columns and stays in the
// first cache, B passes by it.
template <int kDown, int kAcross>
__attribute__((target("amx-tile,amx-bf16"))) void amx_sums(std::int64_t terms, const Bits* a, const Bits* b,
                                                           const float* from, float* to,
                                                           std::int64_t to_row) {
  constexpr std::int64_t kAWidth = kDown * 16, kBWidth = kAcross * 16;
  amx_fence();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (from != nullptr) {
    _tile_loadd(0, from, kSide * 4);
    if constexpr (kAcross == 2) _tile_loadd(1, from + 16, kSide * 4);
    if constexpr (kDown == 2) _tile_loadd(2, from + 16 * kSide, kSide * 4);
    if constexpr (kDown * kAcross == 4) _tile_loadd(3, from + 16 * kSide + 16, kSide * 4);
  }
  for (std::int64_t t = 0; t < terms; t += 32, a += 32 * kAWidth, b += 32 * kBWidth) {
    _tile_stream_loadd(6, b, 64);
    if constexpr (kAcross == 2) _tile_stream_loadd(7, b + 512, 64);
    _tile_loadd(4, a, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kAcross == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kDown == 2) {
      _tile_loadd(5, a + 512, 64);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kDown * kAcross == 4) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, to, to_row * 4);
  if constexpr (kAcross == 2) _tile_stored(1, to + 16, to_row * 4);
  if constexpr (kDown == 2) _tile_stored(2, to + 16 * to_row, to_row * 4);
  if constexpr (kDown * kAcross == 4) _tile_stored(3, to + 16 * to_row + 16, to_row * 4);
  amx_fence();
}

__attribute__((target("avx512f"))) void store_sums(const float* sums, int rows, int columns, float alpha,
                                                   float beta, float* c, std::int64_t ldc) {
  for (int r = 0; r < rows; ++r, c += ldc, sums += kSide)
    for (int j = 0; j < columns; j += 16)
      store_row(_mm512_loadu_ps(sums + j), lanes_mask(columns - j), alpha, beta, c + j);
}

void amx_multiply(int rows, int columns, std::int64_t terms, const Bits* a, const Bits* b,
                  const RunOfTerms& run, float alpha, float beta, float* c, std::int64_t ldc) {
  static_assert(kSide * kSide == kTileSums);
  const bool whole = run.last && rows % 16 == 0 && columns % 16 == 0 && alpha == 1 && beta == 0;
  const auto add = rows > 16 ? (columns > 16 ? amx_sums<2, 2> : amx_sums<2, 1>)
                             : (columns > 16 ? amx_sums<1, 2> : amx_sums<1, 1>);
  add(terms, a, b, run.first ? nullptr : run.kept, whole ? c : run.kept, whole ? ldc : kSide);
  if (run.last && !whole) store_sums(run.kept, rows, columns, alpha, beta, c, ldc);
}

// kept += sums, for whole rows of a tile.
__attribute__((target("avx512f"))) void add_sums(const float* sums, int rows, int columns, float* kept) {
  for (int r = 0; r < rows; ++r, sums += kSide, kept += kSide)
    for (int j = 0; j < columns; j += 16)
      _mm512_store_ps(kept + j, _mm512_add_ps(_mm512_load_ps(kept + j), _mm512_load_ps(sums + j)));
}

// A run begins with a sum of its own: the shorter sums are, the less is rounded off.
void amx_multiply_parts(int rows, int columns, std::int64_t terms, const Bits* a, const Bits* b,
                        const RunOfTerms& run, float alpha, float beta, float* c, std::int64_t ldc) {
  alignas(64) float sums[kTileSums];
  const bool whole = run.first && run.last && rows % 16 == 0 && columns % 16 == 0 && alpha == 1 && beta == 0;
  const auto add = rows > 16 ? (columns > 16 ? amx_sums_of_parts<2, 2> : amx_sums_of_parts<2, 1>)
                             : (columns > 16 ? amx_sums_of_parts<1, 2> : amx_sums_of_parts<1, 1>);
  add(terms, a, b, whole ? c : run.first ? run.kept : sums, whole ? ldc : kSide);
  if (!run.first) add_sums(sums, rows, columns, run.kept);
  if (run.last && !whole) store_sums(run.kept, rows, columns, alpha, beta, c, ldc);
}

__attribute__((target("amx-tile,amx-bf16"))) void amx_chains(std::int64_t rounds) {
  static const std::array<Bits, 512> zeros = {};
  amx_begin();
  _tile_loadd(4, zeros.data(), 64);
  _tile_loadd(5, zeros.data(), 64);
  _tile_loadd(6, zeros.data(), 64);
  _tile_loadd(7, zeros.data(), 64);
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  amx_end();
}

constexpr int kDotRows = 12, kDotVectors = 2;  // 24 of 32 registers

template <int kRows, int kVectors>
__attribute__((target("avx512f,avx512bf16"))) void dot_rows(int columns, std::int64_t terms, const Bits* a,
                                                            const Bits* b, float alpha, float beta, float* c,
                                                            std::int64_t ldc) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  for (std::int64_t t = 0; t < terms; t += 2, a += 2 * kRows, b += 32 * kVectors) {
    __m512i right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_si512(b + 32 * v);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512i one = _mm512_set1_epi32(pair_at(a + 2 * r));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = _mm512_dpbf16_ps(sums[r][v], (__m512bh)one, (__m512bh)right[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      store_row(sums[r][v], lanes_mask(columns - 16 * v), alpha, beta, c + r * ldc + 16 * v);
}

// A block is one run.
template <int kRows>
void dot_multiply(int rows, int columns, std::int64_t terms, const Bits* a, const Bits* b,
                  const RunOfTerms& run, float alpha, float beta, float* c, std::int64_t ldc) {
  if constexpr (kRows > 1)
    if (rows < kRows) return dot_multiply<kRows - 1>(rows, columns, terms, a, b, run, alpha, beta, c, ldc);
  if (columns > 16)
    dot_rows<kRows, 2>(columns, terms, a, b, alpha, beta, c, ldc);
  else
    dot_rows<kRows, 1>(columns, terms, a, b, alpha, beta, c, ldc);
}

constexpr int kChains = 12;

__attribute__((target("avx512f,avx512bf16"))) void dot_chains(std::int64_t rounds) {
  __m512 sums[kChains];
  __m512i y = _mm512_setzero_si512();
  asm volatile("" : "+v"(y));
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) {
    sums[i] = _mm512_setzero_ps();
    asm volatile("" : "+v"(sums[i]));
  }
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], (__m512bh)y, (__m512bh)y);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) asm volatile("" : "+v"(sums[i]));
}

Version amx() {
  return {.name = "amx_bf16",
          .a = {.lines = kSide, .lanes = 16, .pack = pack_tiles<false, 1>},
          .b = {.lines = kSide, .lanes = 16, .pack = pack_tiles<true, 1>},
          .step = 32,
          .block_terms = 2048,
          .run_terms = 512,  // 32 rows of A take 32 KiB
          .flops = 1e12,
          .begin = amx_begin,
          .end = amx_end,
          .multiply = amx_multiply,
          .chains = amx_chains,
          .round_products = 4 * 16 * 16 * 32};
}

Version amx_parts() {
  Version v = amx();
  v.name = "amx_bf16x6";
  v.parts = kParts;
  v.a.pack = pack_tiles<false, kParts>, v.b.pack = pack_tiles<true, kParts>;
  v.block_terms = 1024, v.run_terms = 256;
  v.flops = 2e11;
  v.multiply = amx_multiply_parts;
  return v;
}

Version dots() {
  return {.name = "avx512_bf16",
          .a = {.lines = kDotRows, .lanes = 1, .pack = pack_pairs},
          .b = {.lines = 16 * kDotVectors, .lanes = 16, .pack = pack_pairs},
          .step = 2,
          .block_terms = 1024,
          .run_terms = 1024,
          .flops = 6e10,
          .multiply = dot_multiply<kDotRows>,
          .chains = dot_chains,
          .round_products = kChains * 32};
}
#endif

std::vector<Version> supported() {
  std::vector<Version> list;
#if defined(__x86_64__)
  if (cpu_matrix_units().amx_bf16) list.push_back(amx());
  if (cpu_matrix_units().avx512_bf16) list.push_back(dots());
#elif defined(__aarch64__)
  if (cpu_matrix_units().arm_bf16) list.push_back(mmla::version());
#endif
  return list;
}

const Version* chosen = nullptr;

}  // namespace
}  // namespace cpu_bf16_tile_cc

std::span<const Version> versions() {
  using namespace cpu_bf16_tile_cc;
  static const std::vector<Version> list = supported();
  return list;
}

const Version& version_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Version& version : versions()) {
    if (version.name == name) return version;
    names.push_back(version.name);
  }
  const std::string has =
      names.empty() ? "it has none for bf16" : fmt::format("it has: {}", fmt::join(names, ", "));
  reject(Hint{has}, "this processor has no instructions '{}'", name);
}

void use(std::string_view name) { cpu_bf16_tile_cc::chosen = &version_named(name); }

const Version* exact() {
#if defined(__x86_64__)
  static const Version parts = cpu_bf16_tile_cc::amx_parts();
  if (cpu_matrix_units().amx_bf16) return &parts;
#endif
  return nullptr;
}

const Version* used() {
  if (cpu_bf16_tile_cc::chosen != nullptr) return cpu_bf16_tile_cc::chosen;
  return versions().empty() ? nullptr : &versions().front();
}

}  // namespace headroom::bf16
