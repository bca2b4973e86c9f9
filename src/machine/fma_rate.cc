#include "machine/fma_rate.h"

#include "machine/timing.h"
#include "machine/vector_loops.h"
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/int8_tile.h"

namespace headroom {

FmaRate fma_rate(DType dtype, int threads, double seconds) {
  constexpr std::int64_t kRounds = 1000;  // per pass: some microseconds, so that call costs vanish
  if (dtype != DType::f32 && dtype != DType::f64)
    fail("multiply-adds are measured in fp32 and fp64, not in {}", name_of(dtype));

  const auto loops = vector_loops();
  FmaRate best;
  for (const VectorLoops& loop : loops) {
    const auto chains = dtype == DType::f32 ? loop.fma_f32 : loop.fma_f64;
    const double lanes = static_cast<double>(loop.vector_bytes) / static_cast<double>(size_of(dtype));
    const double flops = 2 * lanes * loop.chains * kRounds * threads;
    const double pass = undisturbed_seconds(
        seconds / static_cast<double>(loops.size()), Clock::cpu, [&](std::int64_t passes) {
          return team_seconds(threads, Clock::cpu, [&](int) { chains(passes * kRounds); });
        });
    if (flops / pass > best.flops) best = {.flops = flops / pass, .vector = loop.name};
  }
  return best;
}

namespace {

// The fastest of versions that have a loop for measurements.
template <class Versions>
FmaRate best_rate(const Versions& versions, int threads, double seconds) {
  constexpr std::int64_t kRounds = 1000;
  FmaRate best;
  for (const auto& version : versions) {
    if (version.chains == nullptr) continue;
    const double operations = 2.0 * version.round_products * kRounds * threads;
    const double pass = undisturbed_seconds(
        seconds / static_cast<double>(versions.size()), Clock::cpu, [&](std::int64_t passes) {
          return team_seconds(threads, Clock::cpu, [&](int) { version.chains(passes * kRounds); });
        });
    if (operations / pass > best.flops)
      best = {.flops = operations / pass, .vector = std::string(version.name)};
  }
  return best;
}

}  // namespace

FmaRate bf16_rate(int threads, double seconds) { return best_rate(bf16::versions(), threads, seconds); }
FmaRate int8_rate(int threads, double seconds) { return best_rate(int8::versions(), threads, seconds); }

}  // namespace headroom
