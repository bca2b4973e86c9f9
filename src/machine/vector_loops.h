#pragma once

#include <cstdint>
#include <span>

namespace headroom {

// The inner loops of the measurement, one version per vector width of this processor. Chosen at run time, not
// at build time: a portable build must not report ceilings that OpenBLAS beats with wider vectors. The widest
// is not always the fastest (it may lower the clock), so the caller tries them all.
struct VectorLoops {
  const char* name;  // "avx512"
  int vector_bytes;
  int chains;  // independent multiply-adds in flight; a round is one of each
  void (*fma_f32)(std::int64_t rounds);
  void (*fma_f64)(std::int64_t rounds);
  // Streams over `bytes` bytes of each array; pointers and sizes are multiples of kStreamBlock.
  void (*read)(const char* a, std::int64_t bytes);
  void (*write)(char* a, std::int64_t bytes);
  void (*update)(char* a, std::int64_t bytes);                               // a = 1 * a
  void (*triad)(char* a, const char* b, const char* c, std::int64_t bytes);  // a = b + 0.5 * c
};

inline constexpr std::int64_t kStreamBlock = 512;  // eight of the widest vectors

std::span<const VectorLoops> vector_loops();

}  // namespace headroom
