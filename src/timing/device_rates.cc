#include "timing/device_rates.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace headroom {
namespace {

// Shares of the fp32 peak that large products reach; see docs/kernel-times.md.
constexpr double kShareOf128Lanes = 0.9;

// FLOP per joule of boards at their power limit, by the process their chips are made in.
double flops_per_joule(int compute_capability) {
  if (compute_capability >= 89) return 175e9;  // 5 nm and less
  if (compute_capability >= 80) return 100e9;  // 7 and 8 nm
  return 58e9;                                 // 12 nm and more
}

}  // namespace

int lanes_of(int cc) {
  if (cc < 50) return 192;
  return cc == 60 || (cc >= 70 && cc <= 80) ? 64 : 128;
}

DeviceRates device_rates(const Machine& machine, std::string_view precision) {
  if (machine.kind != "gpu" || machine.cores < 1)
    reject(Hint{"`headroom machine list` shows GPUs"},
           "machine '{}' is not a GPU with a known number of multiprocessors", machine.name);
  const auto peak = machine.peak_flops.find(std::string(precision));
  if (peak == machine.peak_flops.end()) {
    std::string known;
    for (const auto& [name, rate] : machine.peak_flops) known += (known.empty() ? "" : ", ") + name;
    reject(Hint{"it has " + known}, "machine '{}' has no {} peak", machine.name, precision);
  }
  const double fp32 = machine.peak_flops.at("fp32");
  DeviceRates rates{.sms = double(machine.cores),
                    .flops = peak->second,
                    .memory = machine.memory().bytes_per_s,
                    .cycle_s = machine.cores * 2.0 * lanes_of(machine.compute_capability) / fp32,
                    .launch_s = machine.start_s(),
                    .link = machine.peer_bytes_per_s,
                    .power_w = machine.power_w};
  for (const Machine::Level& level : machine.levels)
    if (level.name == "L2") {
      rates.l2_bytes = level.bytes;
      rates.l2_rate = level.bytes_per_s > 0 ? machine.level_for(level.bytes).bytes_per_s : 0;
    }
  return rates;
}

double unthrottled_fp32(const Machine& machine, double peak) {
  const int cc = machine.compute_capability;
  return cc >= 86 && lanes_of(cc) == 128 ? kShareOf128Lanes * peak : peak;
}

double sustained_fp32(const Machine& machine, double peak) {
  const double rate = unthrottled_fp32(machine, peak);
  if (machine.power_w <= 0) return rate;
  return std::min(rate, machine.power_w * flops_per_joule(machine.compute_capability));
}

}  // namespace headroom
