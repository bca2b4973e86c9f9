#include <system_error>

#include "base/error.h"
#include "device/device.h"
#include "machine/roofline.h"

namespace headroom {
namespace {

constexpr double kQuick = 1.5;  // seconds; loading the vendor's library comes on top

}  // namespace

#ifndef HEADROOM_HAS_CUDA
Machine measure_gpu(Device&, double, const std::function<void(const std::string&)>&) {
  const GpuSurvey survey = survey_gpus();
  reject(Hint{survey.try_this}, "no GPU can be measured: {}", survey.why_not);
}
#endif

Machine here_gpu_or_measure(Device& gpu) {
  if (std::error_code error; std::filesystem::exists(machine_file("here-gpu"), error)) {
    try {
      Machine saved = find_machine("here-gpu");
      if (saved.title == gpu.capabilities().name) return saved;
    } catch (const Error&) {
      // Damaged: to this function the file is only a saving of time, so it is measured and written afresh.
    }
  }
  Machine machine = measure_gpu(gpu, kQuick);
  machine.notes.push_back("measured in a hurry: `headroom roofline` takes more time for it");
  try {
    save_machine(with_saved_link(machine));
  } catch (const Error& error) {
    machine.notes.push_back(fmt::format("not saved: {}", error.what()));
  }
  return machine;
}

}  // namespace headroom
