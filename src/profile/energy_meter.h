#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.h"

namespace headroom {

// A counter of the energy that a device has used since some moment.
class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual double joules() = 0;
  virtual std::string source() const = 0;  // "NVML", "RAPL"
};

// NVML for a GPU, RAPL for the packages of an x86-64 CPU. Null if there is none that this user may read;
// `why_not` says why. `name`: of the device, as "cuda:1".
std::unique_ptr<EnergyMeter> make_energy_meter(const Device& device, const std::string& name,
                                               std::string& why_not);

// Repeats `work`, which must end when it returns, for at least `seconds`, from one change of the counter to
// another: counters change only every 100 ms or so, and between two changes the energy is exact.
struct MeasuredEnergy {
  double joules = 0, seconds = 0;
  std::int64_t repeats = 0;
  double joules_each() const { return repeats > 0 ? joules / double(repeats) : 0; }
};
MeasuredEnergy measure_energy(EnergyMeter& meter, double seconds, const std::function<void()>& work);

}  // namespace headroom
