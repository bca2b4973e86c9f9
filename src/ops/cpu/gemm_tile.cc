#include "ops/cpu/gemm_tile.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/cpu/gemm_pack.h"
#if defined(__aarch64__)
#include <sys/auxv.h>

#include "ops/cpu/gemm_tile_sve.h"
#endif

namespace headroom::gemm_tile {
namespace cpu_gemm_tile_cc {
namespace {

namespace plain {
#define HEADROOM_TARGET
#define HEADROOM_BYTES 16
#if defined(__aarch64__)
#define HEADROOM_ROWS 8  // 24 of 32 registers
#define HEADROOM_VECTORS 3
#define HEADROOM_BY_LANE true
#define HEADROOM_TERM_BYTES 2048
#define HEADROOM_TERMS_AHEAD 0
#else
#define HEADROOM_ROWS 6  // 12 of 16 registers
#define HEADROOM_VECTORS 2
#define HEADROOM_BY_LANE false
#define HEADROOM_TERM_BYTES 1536
#define HEADROOM_TERMS_AHEAD 16
#endif
#define HEADROOM_STRETCH 0
#include "ops/cpu/gemm_tile.inc"
Version version(std::string_view name) {
  return {name, tile<float>(pack_squares<float>), tile<double>(pack_squares<double>)};
}
#undef HEADROOM_STRETCH
#undef HEADROOM_TERM_BYTES
#undef HEADROOM_TERMS_AHEAD
#undef HEADROOM_BY_LANE
#undef HEADROOM_VECTORS
#undef HEADROOM_ROWS
#undef HEADROOM_BYTES
#undef HEADROOM_TARGET
}  // namespace plain

#if defined(__x86_64__)
namespace avx2 {
#define HEADROOM_TARGET __attribute__((target("avx2,fma,no-avx512f")))
#define HEADROOM_BYTES 32
#define HEADROOM_ROWS 6
#define HEADROOM_VECTORS 2
#define HEADROOM_BY_LANE false
#define HEADROOM_TERMS_AHEAD 16
#define HEADROOM_TERM_BYTES 1536
#define HEADROOM_STRETCH 0
#include "ops/cpu/gemm_tile.inc"
Version version(std::string_view name) {
  return {name, tile<float>(pack_squares<float>), tile<double>(pack_squares<double>)};
}
#undef HEADROOM_STRETCH
#undef HEADROOM_TERM_BYTES
#undef HEADROOM_TERMS_AHEAD
#undef HEADROOM_BY_LANE
#undef HEADROOM_VECTORS
#undef HEADROOM_ROWS
#undef HEADROOM_BYTES
#undef HEADROOM_TARGET
}  // namespace avx2

namespace avx512 {
#define HEADROOM_TARGET __attribute__((target("avx512f")))
#define HEADROOM_BYTES 64
#define HEADROOM_ROWS 12  // 24 of 32 registers
#define HEADROOM_VECTORS 2
#define HEADROOM_BY_LANE false
#define HEADROOM_TERMS_AHEAD 16
#define HEADROOM_TERM_BYTES 2048
#define HEADROOM_STRETCH 16
#include "ops/cpu/gemm_tile.inc"
#include "ops/cpu/gemm_tile_pack.inc"
Version version(std::string_view name) {
  return {name, tile<float>(pack<float>), tile<double>(pack<double>)};
}
#undef HEADROOM_STRETCH
#undef HEADROOM_TERM_BYTES
#undef HEADROOM_TERMS_AHEAD
#undef HEADROOM_BY_LANE
#undef HEADROOM_VECTORS
#undef HEADROOM_ROWS
#undef HEADROOM_BYTES
#undef HEADROOM_TARGET
}  // namespace avx512
#endif

#if defined(__aarch64__)
constexpr unsigned long kHwcapSve = 1UL << 22;
#endif

std::vector<Version> supported() {
  std::vector<Version> list;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) list.push_back(avx512::version("avx512"));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list.push_back(avx2::version("avx2"));
  list.push_back(plain::version("sse2"));
#elif defined(__aarch64__)
  // Vectors of 16 bytes are those of NEON, whose products take a term of A without a copy in every lane.
  if ((::getauxval(AT_HWCAP) & kHwcapSve) != 0 && sve::tile<float>().lanes > 4)
    list.push_back(sve::version("sve"));
  list.push_back(plain::version("neon"));
#else
  list.push_back(plain::version("plain"));
#endif
  return list;
}

}  // namespace
}  // namespace cpu_gemm_tile_cc

std::span<const Version> versions() {
  using namespace cpu_gemm_tile_cc;
  static const std::vector<Version> list = supported();
  return list;
}

const Version& version_named(std::string_view name) {
  using namespace cpu_gemm_tile_cc;
  std::vector<std::string_view> names;
  for (const Version& version : versions()) {
    if (version.name == name) return version;
    names.push_back(version.name);
  }
  reject(Hint{fmt::format("it has: {}", fmt::join(names, ", "))}, "this processor has no instructions '{}'",
         name);
}

namespace {
const Version* chosen = nullptr;
}

void use(std::string_view name) { chosen = &version_named(name); }

const Version& used() { return chosen == nullptr ? versions().front() : *chosen; }

}  // namespace headroom::gemm_tile
