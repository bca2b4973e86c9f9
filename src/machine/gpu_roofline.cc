#include <system_error>

#include "base/error.h"
#include "device/device.h"
#include "machine/roofline.h"

namespace headroom {
namespace {

constexpr double kQuick = 1.5;  // seconds, plus loading the vendor's library

}  // namespace

#ifndef HEADROOM_HAS_CUDA
Machine measure_gpu(Device&, double, const std::function<void(const std::string&)>&) {
  const GpuSurvey survey = survey_gpus();
  reject(Hint{survey.try_this}, "no GPU can be measured: {}", survey.why_not);
}
#endif

Machine here_gpu_or_measure(Device& gpu, const Warn& warn) {
  if (std::error_code error; std::filesystem::exists(machine_file("here-gpu"), error)) {
    try {
      Machine saved = find_machine("here-gpu");
      if (saved.title == gpu.capabilities().name) return saved;
    } catch (const Error& damage) {
      // The file only saves time here; a damaged one is measured and written again.
      if (warn) warn(fmt::format("{}; measuring this machine again", damage.what()));
    }
  }
  Machine machine = measure_gpu(gpu, kQuick);
  machine.notes.push_back("measured quickly: `headroom roofline` measures longer");
  try {
    save_machine(with_saved_link(machine));
  } catch (const Error& error) {
    machine.notes.push_back(fmt::format("not saved: {}", error.what()));
  }
  return machine;
}

}  // namespace headroom
