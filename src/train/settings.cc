#include "train/settings.h"

#include <algorithm>

#include "base/text.h"

namespace headroom {
namespace {

constexpr double kQuickRoofline = 1.5;  // seconds: enough for a ceiling, once per machine

}  // namespace

Precision parse_precision(const std::string& name) {
  const std::vector<std::string> names = {"fp64", "fp32", "tf32", "bf16", "fp16"};
  if (std::ranges::find(names, name) == names.end())
    reject(nearest(name, names), "unknown precision '{}'", name);
  if (name == "tf32") return {DType::f32, true};
  return {*parse_dtype(name), false};
}

void require_cpu_precision(const Precision& precision, const std::string& name) {
  if (precision.tf32 || is_16bit(precision.dtype))
    reject(Hint{"use `precision` fp32 or fp64"}, "the CPU does not compute in {}", name);
}

void require_threads(int threads) {
  constexpr int kMaxThreads = 4096;
  if (threads < 0 || threads > kMaxThreads)
    reject("`threads` is {}; it must lie between 1 and {}, or be 0 for one per core", threads, kMaxThreads);
}

Machine ceilings_of(Device& device, int threads, bool keep, const Warn& warn) {
  if (device.kind() == DeviceKind::cpu) return here_or_measure(threads, kQuickRoofline, keep, warn);
  return here_gpu_or_measure(device, warn);
}

Machine machine_named(const std::string& name, int threads, const Warn& warn) {
  return name == "here" ? here_or_measure(threads, kQuickRoofline, true, warn) : find_machine(name);
}

Update usual_update(const TrainDefaults& defaults) {
  Update update = parse_update(defaults.optimizer);
  if (update.momentum == 0) update.momentum = defaults.momentum;
  update.l2 = defaults.weight_decay;
  update.decay = true;
  update.clip_norm = defaults.clip_norm;
  return update;
}

}  // namespace headroom
