#include "profile/energy_meter.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/spans.h"
#include "base/text.h"
#include "profile/nvml_library.h"
#include "profile/nvml_source.h"
#include "profile/sampler.h"

namespace headroom {
namespace {

class NvmlMeter final : public EnergyMeter {
 public:
  NvmlMeter(std::unique_ptr<SampleSource> source, std::size_t series, std::size_t count)
      : source_(std::move(source)), series_(series), values_(count) {}
  double joules() override {
    std::ranges::fill(values_, kNotRead);
    source_->read(now_ += 1, values_);  // a second later each time: the source reads the counter again
    return values_[series_];
  }
  std::string source() const override { return "NVML"; }

 private:
  std::unique_ptr<SampleSource> source_;
  std::size_t series_;
  double now_ = 0;
  std::vector<double> values_;
};

// Every package of the machine; the counters wrap around.
class RaplMeter final : public EnergyMeter {
 public:
  struct Package {
    std::filesystem::path counter;
    double range_j = 0, last_j = -1, total_j = 0;
  };
  explicit RaplMeter(std::vector<Package> packages) : packages_(std::move(packages)) {}
  double joules() override {
    double sum = 0;
    for (Package& p : packages_) {
      double microjoules = 0;
      std::ifstream(p.counter) >> microjoules;
      const double now = microjoules / 1e6;
      if (p.last_j >= 0) p.total_j += now >= p.last_j ? now - p.last_j : now + p.range_j - p.last_j;
      p.last_j = now;
      sum += p.total_j;
    }
    return sum;
  }
  std::string source() const override { return "RAPL"; }

 private:
  std::vector<Package> packages_;
};

std::unique_ptr<EnergyMeter> nvml_meter(const std::string& device, std::string& why_not) {
  auto source = nvml_source();
  const std::vector<SeriesInfo> series = source->series();
  const std::string key = fmt::format("gpu{}_energy_j", gpu_index(device));
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].key != key) continue;
    auto meter = std::make_unique<NvmlMeter>(std::move(source), i, series.size());
    if (std::isfinite(meter->joules())) return meter;
    why_not = "this GPU has no counter of energy";
    return nullptr;
  }
  why_not = "NVML does not show this GPU";
  return nullptr;
}

std::unique_ptr<EnergyMeter> rapl_meter(std::string& why_not) {
  std::vector<RaplMeter::Package> packages;
  const std::filesystem::path root = "/sys/class/powercap";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("intel-rapl:") || name.find(':', 11) != name.npos) continue;  // parts of a package
    RaplMeter::Package package{entry.path() / "energy_uj"};
    double range = 0;
    if (!(std::ifstream(entry.path() / "max_energy_range_uj") >> range)) continue;
    if (double now = 0; !(std::ifstream(package.counter) >> now)) continue;
    package.range_j = range / 1e6;
    packages.push_back(package);
  }
  if (!packages.empty()) return std::make_unique<RaplMeter>(std::move(packages));
  why_not = "this CPU has no counter of energy that this user may read";
  return nullptr;
}

}  // namespace

MeasuredEnergy measure_energy(EnergyMeter& meter, double seconds, const std::function<void()>& work) {
  const auto now_s = [] { return 1e-9 * double(spans::now_ns()); };
  constexpr double kGiveUp = 5;      // seconds without a change
  constexpr double kBetween = 5e-3;  // reading may take as long as a step: not after each
  std::int64_t repeats = 0;
  // Works for some time, then until the counter changes; returns its new value.
  const auto work_until_change = [&](double least) {
    const double begin = now_s();
    while (now_s() - begin < least) work(), ++repeats;
    const double before = meter.joules();
    double value = before;
    while (value == before && now_s() - begin < least + kGiveUp) {
      const double until = now_s() + kBetween;
      do work(), ++repeats;
      while (now_s() < until);
      value = meter.joules();
    }
    return value;
  };
  const double first = work_until_change(0), begin = now_s();
  repeats = 0;
  const double last = work_until_change(seconds);
  if (!(last > first)) return {};
  return {last - first, now_s() - begin, repeats};
}

std::unique_ptr<EnergyMeter> make_energy_meter(const Device& device, const std::string& name,
                                               std::string& why_not) {
  if (device.kind() == DeviceKind::cpu) return rapl_meter(why_not);
  return nvml_meter(name, why_not);
}

}  // namespace headroom
