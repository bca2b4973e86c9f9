#pragma once

// Tiles of Intel's AMX. Part of files that are compiled once, for every x86-64: functions carry their target.

#include <immintrin.h>

#include <cstdint>

namespace headroom {

// As the processor reads it: which of its eight tiles have how many rows, of how many bytes.
struct alignas(64) AmxConfig {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(AmxConfig) == 64);

// Intrinsics of g++ 12 do not tell the compiler which memory they read and write.
inline void amx_fence() { asm volatile("" ::: "memory"); }

inline void amx_configure(const AmxConfig& config) { asm volatile("ldtilecfg %0" ::"m"(config) : "memory"); }

// All tiles as large as they can be: 16 rows of 64 bytes.
inline void amx_begin() {
  AmxConfig config;
  for (int i = 0; i < 8; ++i) config.row_bytes[i] = 64, config.rows[i] = 16;
  amx_configure(config);
}

// Registers in use cost time whenever the system changes threads.
inline void amx_end() { asm volatile("tilerelease" ::: "memory"); }

}  // namespace headroom
