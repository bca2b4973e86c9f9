#include "device/cpu/levels.h"

#include <atomic>
#include <vector>

#include "base/error.h"

namespace headroom {
namespace {

constexpr int program_vector_bytes() {
#if defined(__AVX512F__)
  return 64;
#elif defined(__AVX__)
  return 32;
#else
  return 16;
#endif
}

// All levels of this architecture, lowest first.
std::vector<CpuLevel> known_levels() {
#if defined(__x86_64__)
  return {{"v2", "SSE4.2", 16, true},
          {"v3", "AVX2, FMA", 32, __builtin_cpu_supports("x86-64-v3") != 0},
          {"v4", "AVX-512 F, BW, CD, DQ, VL", 64, __builtin_cpu_supports("x86-64-v4") != 0}};
#else
  return {};
#endif
}

CpuLevel level_named(std::string_view name) {
  for (const CpuLevel& level : known_levels())
    if (level.name == name) return level;
  return {.name = name,
          .instructions = "as the whole program",
          .vector_bytes = program_vector_bytes()};  // compiled once, for one kind of processor
}

// HEADROOM_BUILT_LEVELS, from cmake/levels.cmake, is HEADROOM_LEVEL(name) for each level.
std::vector<CpuLevel> built_levels() {
#define HEADROOM_LEVEL(name) level_named(#name),
  return {HEADROOM_BUILT_LEVELS};
#undef HEADROOM_LEVEL
}

const CpuLevel* highest_here() {
  const CpuLevel* highest = &cpu_levels().front();
  for (const CpuLevel& level : cpu_levels())
    if (level.here) highest = &level;
  return highest;
}

std::atomic<const CpuLevel*> named = nullptr;

}  // namespace

std::span<const CpuLevel> cpu_levels() {
  static const std::vector<CpuLevel> levels = built_levels();
  return levels;
}

std::vector<std::string_view> cpu_level_names() {
  std::vector<std::string_view> names;
  for (const CpuLevel& level : cpu_levels()) names.push_back(level.name);
  return names;
}

std::string_view processor_level() {
  std::string_view highest = cpu_levels().front().name;
  for (const CpuLevel& level : known_levels())
    if (level.here) highest = level.name;
  return highest;
}

const CpuLevel& used_cpu_level() {
  static const CpuLevel* const highest = highest_here();
  const CpuLevel* level = named.load(std::memory_order_relaxed);
  return level == nullptr ? *highest : *level;
}

void use_cpu_level(std::string_view name) {
  for (const CpuLevel& level : cpu_levels()) {
    if (level.name != name) continue;
    if (!level.here)
      reject(Hint{fmt::format("the highest level it has is {}", processor_level())},
             "level {} needs instructions that this processor does not have: {}", name, level.instructions);
    named.store(&level, std::memory_order_relaxed);
    return;
  }
  reject(Hint{fmt::format("it has: {}; cmake -DHEADROOM_LEVELS=all builds all",
                          fmt::join(cpu_level_names(), ", "))},
         "this program has no CPU kernels of level '{}'", name);
}

std::string cpu_levels_text() {
  const CpuLevel& used = used_cpu_level();
  return fmt::format("for level {} ({}); built in: {}; this processor: {}", used.name, used.instructions,
                     fmt::join(cpu_level_names(), ", "), processor_level());
}

}  // namespace headroom
