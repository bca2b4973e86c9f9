#include "cli/repeated_runs.h"

#include <algorithm>

#include "base/text.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "report/gpu_sample_sheets.h"

namespace headroom::cli {
namespace {

// Repeats the plan for some time; returns how often. The host stays only a little ahead of the device.
std::int64_t repeat_for(double seconds, Executor& executor, Device& device) {
  constexpr int kQueued = 8;
  const std::int64_t end = spans::now_ns() + static_cast<std::int64_t>(1e9 * seconds);
  std::int64_t runs = 0;
  for (; spans::now_ns() < end; runs += kQueued) {
    for (int i = 0; i < kQueued; ++i) executor.run();
    device.stream().synchronize();
  }
  return runs;
}

}  // namespace

bool RepeatedRuns::wanted(bool counters_refused) const {
  return options_.energy || options_.sample_us || counters_refused;
}

void RepeatedRuns::measure(Executor& executor, Device& device, const std::string& name, KernelTracer* tracer,
                           bool counters_refused) {
  if (options_.energy) measure_energy(executor, device, name);
  if (device.kind() == DeviceKind::cpu) return;
  if (options_.sample_us) sample(executor, device, tracer);
  if (counters_refused || !why_no_samples_.empty()) measure_use(executor, device, name);
}

void RepeatedRuns::measure_energy(Executor& executor, Device& device, const std::string& name) {
  std::string why_not;
  const auto meter = make_energy_meter(device, name, why_not);
  if (meter == nullptr) return warn(fmt::format("--energy has no effect: {}", why_not));
  Progress progress("measuring energy");
  progress.stage(meter->source());
  energy_ = measure_layer_energy(executor, device, *meter, 1.0);
}

void RepeatedRuns::sample(Executor& executor, Device& device, KernelTracer* tracer) {
  Progress progress("sampling counters");
  progress.stage(fmt::format("every {} us", *options_.sample_us));
  try {
    if (tracer == nullptr) fail("kernels cannot be traced");
    sampled_ = sample_step(executor, device, *options_.sample_us * 1000, *tracer);
  } catch (const Error& error) {
    why_no_samples_ = error.what(), remedy_ = error.hint();
  }
}

void RepeatedRuns::measure_use(Executor& executor, Device& device, const std::string& name) {
  constexpr double kSeconds = 1;
  Progress progress("measuring the use of the GPU");
  progress.stage("NVML");
  asked_nvml_ = true;
  repeat_for(0.05, executor, device);  // to warm up
  use_ = measure_gpm(
      name, [&] { use_runs_ = repeat_for(kSeconds, executor, device); }, why_no_use_);
}

std::string RepeatedRuns::use_note() const {
  if (!use_) return fmt::format("no use of the GPU by NVML either: {}", why_no_use_);
  return fmt::format("the use of the GPU is NVML's, over {:.2f} s and {}", use_->seconds,
                     counted(use_runs_, "run"));
}

void RepeatedRuns::add_to(RunProfile& profile) const {
  profile.energy = energy_;
  std::vector<Sheet>& tables = profile.record.tables;
  std::vector<std::string>& notes = profile.trace.notes;
  if (sampled_) {
    tables.push_back(sampled_layers_sheet(*sampled_));
    tables.push_back(sampled_step_sheet(*sampled_));
    notes.push_back(sampled_->note());
  } else if (!why_no_samples_.empty()) {
    const bool said = std::ranges::any_of(
        notes, [&](const std::string& note) { return note.find(why_no_samples_) != note.npos; });
    const std::string remedy = remedy_.empty() ? "" : fmt::format(" ({})", remedy_);
    notes.push_back(said ? "no samples over time, for the same reason"
                         : fmt::format("no samples over time: {}{}", why_no_samples_, remedy));
  } else if (options_.sample_us) {
    notes.push_back("no samples over time: the step cannot be repeated after this run");
  }
  if (!asked_nvml_) return;
  if (use_)
    tables.push_back(
        gpu_use_sheet(*use_, use_->seconds / double(std::max<std::int64_t>(1, use_runs_)), profile.record));
  notes.push_back(use_note());
}

}  // namespace headroom::cli
