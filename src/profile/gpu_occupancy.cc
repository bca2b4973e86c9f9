#include "profile/gpu_occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace headroom {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kRegisterUnit = 256;  // a warp's registers are a multiple of this
constexpr std::int64_t kParts = 4;           // of a multiprocessor; a warp's registers lie within one
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t blocks_by_registers(std::int64_t registers, std::int64_t warps_of_block,
                                 const SmLimits& limits) {
  const std::int64_t of_warp = rounded_up(registers * kWarp, kRegisterUnit);
  if (of_warp == 0) return kNoLimit;
  // A launch is refused as if the block had the same number of warps in every part.
  if (of_warp * rounded_up(warps_of_block, kParts) > limits.registers) return 0;
  return limits.registers / kParts / of_warp * kParts / warps_of_block;
}

}  // namespace

std::optional<SmLimits> sm_limits(int compute_capability) {
  constexpr std::int64_t kKB = 1024;
  // "Technical specifications per compute capability" of the CUDA programming guide.
  struct Row {
    int capability, warps, blocks;
    std::int64_t shared_kb;
  };
  constexpr std::array<Row, 13> kRows = {{{70, 64, 32, 96},
                                          {72, 64, 32, 96},
                                          {75, 32, 16, 64},
                                          {80, 64, 32, 164},
                                          {86, 48, 16, 100},
                                          {87, 48, 16, 164},
                                          {89, 48, 24, 100},
                                          {90, 64, 32, 228},
                                          {100, 64, 32, 228},
                                          {103, 64, 32, 228},
                                          {110, 48, 24, 228},
                                          {120, 48, 24, 100},
                                          {121, 48, 24, 100}}};
  const auto row = std::ranges::find(kRows, compute_capability, &Row::capability);
  if (row == kRows.end()) return {};
  const bool since_ampere = compute_capability >= 80;
  return SmLimits{.warps = row->warps,
                  .blocks = row->blocks,
                  .shared_bytes = row->shared_kb * kKB,
                  .reserved_bytes = since_ampere ? kKB : 0,
                  .shared_unit = since_ampere ? 128 : 256};
}

KernelOccupancy occupancy_of(const Trace::Kernel& kernel, const SmLimits& limits) {
  const std::int64_t threads = std::int64_t{1} * kernel.block[0] * kernel.block[1] * kernel.block[2];
  const std::int64_t warps = std::max<std::int64_t>(1, rounded_up(threads, kWarp) / kWarp);
  const std::int64_t shared =
      rounded_up(kernel.static_shared + kernel.dynamic_shared + limits.reserved_bytes, limits.shared_unit);
  const std::array<std::pair<const char*, std::int64_t>, 4> allowed = {
      {{"registers", blocks_by_registers(kernel.registers, warps, limits)},
       {"shared memory", shared == 0 ? kNoLimit : limits.shared_bytes / shared},
       {"warps", limits.warps / warps},
       {"blocks", limits.blocks}}};
  std::int64_t blocks = kNoLimit;
  for (const auto& [what, count] : allowed) blocks = std::min(blocks, count);
  std::vector<const char*> limiters;
  for (const auto& [what, count] : allowed)
    if (count == blocks) limiters.push_back(what);
  return {.blocks = static_cast<int>(blocks),
          .warps = static_cast<int>(blocks * warps),
          .percent = limits.warps == 0 ? 0 : 100.0 * double(blocks * warps) / limits.warps,
          .limiter = fmt::format("{}", fmt::join(limiters, ", "))};
}

}  // namespace headroom
