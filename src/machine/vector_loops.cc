#include "machine/vector_loops.h"

#include <vector>

// Empty instructions that the compiler must respect: a value that changed, values that are used.
#if defined(__x86_64__)
#define HEADROOM_CHANGED(v) asm volatile("" : "+v"(v))
#define HEADROOM_USED(a, b, c, d) asm volatile("" : : "v"(a), "v"(b), "v"(c), "v"(d))
#elif defined(__aarch64__)
#define HEADROOM_CHANGED(v) asm volatile("" : "+w"(v))
#define HEADROOM_USED(a, b, c, d) asm volatile("" : : "w"(a), "w"(b), "w"(c), "w"(d))
#else
#define HEADROOM_CHANGED(v) asm volatile("" : "+m"(v))
#define HEADROOM_USED(a, b, c, d) asm volatile("" : : "m"(a), "m"(b), "m"(c), "m"(d))
#endif

namespace headroom {
namespace {

namespace plain {
#define HEADROOM_TARGET
#define HEADROOM_BYTES 16
#if defined(__aarch64__)
#define HEADROOM_CHAINS 24  // 32 registers; four units of latency four need 16
#else
#define HEADROOM_CHAINS 12  // 16 registers; two units of latency five need 10
#endif
#include "machine/vector_loops.inc"
#undef HEADROOM_CHAINS
#undef HEADROOM_BYTES
#undef HEADROOM_TARGET
}  // namespace plain

#if defined(__x86_64__)
namespace avx2 {
#define HEADROOM_TARGET __attribute__((target("avx2,fma")))
#define HEADROOM_BYTES 32
#define HEADROOM_CHAINS 12
#include "machine/vector_loops.inc"
#undef HEADROOM_CHAINS
#undef HEADROOM_BYTES
#undef HEADROOM_TARGET
}  // namespace avx2

namespace avx512 {
#define HEADROOM_TARGET __attribute__((target("avx512f")))
#define HEADROOM_BYTES 64
#define HEADROOM_CHAINS 24
#include "machine/vector_loops.inc"
#undef HEADROOM_CHAINS
#undef HEADROOM_BYTES
#undef HEADROOM_TARGET
}  // namespace avx512
#endif

std::vector<VectorLoops> supported() {
#if defined(__x86_64__)
  std::vector<VectorLoops> loops;
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) loops.push_back(avx2::table("avx2"));
  if (__builtin_cpu_supports("avx512f")) loops.push_back(avx512::table("avx512"));
  if (loops.empty()) loops.push_back(plain::table("sse2"));
  return loops;
#elif defined(__aarch64__)
  return {plain::table("neon")};
#else
  return {plain::table("plain")};
#endif
}

}  // namespace

std::span<const VectorLoops> vector_loops() {
  static const std::vector<VectorLoops> loops = supported();
  return loops;
}

}  // namespace headroom
