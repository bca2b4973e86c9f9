// The few functions of NVML that sampling needs, declared here: its header is not part of every toolkit, and
// the library is there only where a driver is.
#include "profile/nvml_source.h"

#include <fmt/format.h>

#include <utility>

#include "profile/nvml_library.h"

namespace headroom {
namespace {

using Handle = NvmlLibrary::Handle;
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
constexpr int kSuccess = NvmlLibrary::kSuccess;
constexpr int kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr int kChip = 0;                       // nvmlTemperatureSensors_t

// nvmlClocksEventReason...: why the clocks are below what was asked for. Idling (1) does not count.
constexpr unsigned long long kForPower = 0x04 | 0x80;  // power cap of the driver, power brake of the board
constexpr unsigned long long kForHeat = 0x20 | 0x40;
constexpr unsigned long long kSlowdown = 0x08;  // set together with the power brake or with heat
constexpr unsigned long long kOther =
    0x02 | 0x10 | 0x100;  // clocks set by hand, kept equal among GPUs, display

struct Nvml {
  int (*utilization)(Handle, Utilization*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*energy)(Handle, unsigned long long*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*reasons)(Handle, unsigned long long*) = nullptr;
};

// Rows of the table of series; the order of read_gpu.
constexpr std::size_t kSeries = 11;

// The counter of energy changes every 100 ms, and reading it takes milliseconds.
constexpr double kEnergyInterval = 0.1;

class Gpus : public SampleSource {
 public:
  Gpus() : why_not_(library_.why_not()) {
    if (!why_not_.empty()) return;
    if (!find_functions()) {
      why_not_ = "libnvidia-ml.so.1 is too old";
      return;
    }
    for (unsigned i = 0; i < library_.count(); ++i)
      if (const Handle handle = library_.gpu(i); handle != nullptr) gpus_.push_back({i, handle});
    if (gpus_.empty()) why_not_ = "NVML finds none";
  }

  std::vector<SeriesInfo> series() const override {
    std::vector<SeriesInfo> all;
    for (const Gpu& gpu : gpus_) {
      const auto add = [&](const char* key, const char* name, const char* unit, double limit, bool charted) {
        all.push_back({.key = fmt::format("gpu{}_{}", gpu.index, key),
                       .name = fmt::format("GPU {} {}", gpu.index, name),
                       .unit = unit,
                       .limit = limit,
                       .charted = charted});
      };
      add("busy_percent", "busy", "%", 100, true);
      add("memory_busy_percent", "memory busy", "%", 100, true);
      add("memory_used_mb", "memory used", "MB", 0, false);
      add("sm_mhz", "SM clock", "MHz", 0, false);
      add("memory_mhz", "memory clock", "MHz", 0, false);
      add("power_w", "power", "W", 0, true);
      add("energy_j", "energy", "J", 0, false);
      all.back().counter = true;
      add("temperature_c", "temperature", "C", 0, false);
      add("throttled_power_percent", "slowed by power", "% of time", 100, false);
      add("throttled_heat_percent", "slowed by heat", "% of time", 100, false);
      add("throttled_other_percent", "slowed otherwise", "% of time", 100, false);
    }
    return all;
  }

  void read(double seconds, std::span<double> values) override {
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      read_gpu(gpus_[i], seconds, values.subspan(i * kSeries, kSeries));
  }

  std::vector<std::string> absent() const override {
    return why_not_.empty() ? std::vector<std::string>{} : std::vector{"GPUs: " + why_not_};
  }

 private:
  struct Gpu {
    unsigned index;
    Handle handle;
    double energy_j = kNotRead, energy_read_s = -1;
  };

  bool find_functions() {
    const auto find = [&](auto*& function, const char* name) { return library_.find(function, name); };
    const bool renamed = find(nvml_.reasons, "nvmlDeviceGetCurrentClocksEventReasons") ||
                         find(nvml_.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    return renamed && find(nvml_.utilization, "nvmlDeviceGetUtilizationRates") &&
           find(nvml_.memory, "nvmlDeviceGetMemoryInfo") && find(nvml_.clock, "nvmlDeviceGetClockInfo") &&
           find(nvml_.power, "nvmlDeviceGetPowerUsage") &&
           find(nvml_.energy, "nvmlDeviceGetTotalEnergyConsumption") &&
           find(nvml_.temperature, "nvmlDeviceGetTemperature");
  }

  void read_gpu(Gpu& gpu, double seconds, std::span<double> values) {
    if (Utilization use{}; nvml_.utilization(gpu.handle, &use) == kSuccess)
      values[0] = use.gpu, values[1] = use.memory;
    if (Memory memory{}; nvml_.memory(gpu.handle, &memory) == kSuccess) values[2] = double(memory.used) / 1e6;
    if (unsigned mhz = 0; nvml_.clock(gpu.handle, kSmClock, &mhz) == kSuccess) values[3] = mhz;
    if (unsigned mhz = 0; nvml_.clock(gpu.handle, kMemoryClock, &mhz) == kSuccess) values[4] = mhz;
    if (unsigned milliwatts = 0; nvml_.power(gpu.handle, &milliwatts) == kSuccess)
      values[5] = milliwatts / 1e3;
    values[6] = energy_of(gpu, seconds);
    if (unsigned degrees = 0; nvml_.temperature(gpu.handle, kChip, &degrees) == kSuccess) values[7] = degrees;
    if (unsigned long long why = 0; nvml_.reasons(gpu.handle, &why) == kSuccess) {
      const bool power = why & kForPower, heat = why & kForHeat;
      values[8] = power ? 100 : 0;
      values[9] = heat ? 100 : 0;
      values[10] = (why & kOther) || ((why & kSlowdown) && !power && !heat) ? 100 : 0;
    }
  }

  double energy_of(Gpu& gpu, double seconds) {
    if (gpu.energy_read_s >= 0 && seconds - gpu.energy_read_s < 0.9 * kEnergyInterval) return gpu.energy_j;
    gpu.energy_read_s = seconds;
    unsigned long long millijoules = 0;
    gpu.energy_j = nvml_.energy(gpu.handle, &millijoules) == kSuccess ? double(millijoules) / 1e3 : kNotRead;
    return gpu.energy_j;
  }

  NvmlLibrary library_;
  Nvml nvml_;
  std::string why_not_;
  std::vector<Gpu> gpus_;
};

}  // namespace

std::unique_ptr<SampleSource> nvml_source() { return std::make_unique<Gpus>(); }

}  // namespace headroom
