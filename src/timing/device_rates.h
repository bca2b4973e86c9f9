#pragma once

#include <string_view>

#include "machine/machine.h"

namespace headroom {

// The figures of a GPU that kernel formulas use. Rejects a machine that is no GPU, or has none for the
// precision: it names those that the machine has.
struct DeviceRates {
  double sms = 0;
  double flops = 0;     // peak of the precision, FLOP/s
  double memory = 0;    // bytes/s
  double l2_bytes = 0;  // 0: unknown
  double l2_rate = 0;   // bytes/s; 0: unknown
  double cycle_s = 0;   // one clock of a multiprocessor, from the fp32 peak
  double launch_s = 0;  // one kernel after another
  double link = 0;      // bytes/s to other GPUs, one direction; 0: none known
  double power_w = 0;   // 0: unknown

  double sm_flops() const { return flops / sms; }
};
DeviceRates device_rates(const Machine& machine, std::string_view precision);

int lanes_of(int compute_capability);  // per multiprocessor

// The fp32 rate outside tensor cores that a device reaches: less than its peak where 128 lanes share one
// register file.
double unthrottled_fp32(const Machine& machine, double peak);
// The same for long kernels: less where the power limit of the board is low.
double sustained_fp32(const Machine& machine, double peak);

}  // namespace headroom
