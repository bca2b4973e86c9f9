#include "train/settings.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

constexpr double kQuickRoofline = 1.5;  // seconds: enough for a ceiling, once per machine

// A format that exists elsewhere is not a misspelling of one that is supported here.
[[noreturn]] void reject_precision(const std::string& name, const std::vector<std::string>& names) {
  const std::map<std::string, std::string> other_names = {
      {"float", "fp32"},   {"single", "fp32"},  {"float32", "fp32"},  {"f32", "fp32"},
      {"double", "fp64"},  {"float64", "fp64"}, {"f64", "fp64"},      {"half", "fp16"},
      {"float16", "fp16"}, {"f16", "fp16"},     {"bfloat16", "bf16"}, {"bfloat", "bf16"}};
  if (const auto it = other_names.find(name); it != other_names.end())
    reject(Hint{fmt::format("write '{}'", it->second)}, "unknown precision '{}'", name);
  for (const char* format :
       {"fp4", "fp6", "fp8", "fp128", "int4", "int8", "int16", "uint8", "mxfp4", "mxfp8"})
    if (name.starts_with(format))
      reject(Hint{fmt::format("supported: {}", fmt::join(names, ", "))}, "precision '{}' is not supported",
             name);
  reject(nearest(name, names), "unknown precision '{}'", name);
}

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = {"fp64", "fp32", "tf32", "bf16", "fp16"};
  return names;
}

// A GPU has what its table lists. The roofline of a GPU before sm_80 measures no 16-bit unit.
bool has_precision(const Machine& machine, const std::string& name) {
  if (machine.kind == "cpu")
    return name == "fp64" || name == "fp32" || (name == "bf16" && capabilities_of(machine).bf16_products);
  if (machine.peak_flops.contains(name)) return true;
  if (name == "fp64") return machine.peak_flops.contains("fp64_tensor");
  if (name != "fp16") return false;
  return machine.peak_flops.contains("fp16_vector") || (machine.measured && machine.compute_capability >= 53);
}

}  // namespace

Precision parse_precision(const std::string& name) {
  const std::vector<std::string>& names = precision_names();
  if (std::ranges::find(names, name) == names.end()) reject_precision(name, names);
  if (name == "tf32") return {DType::f32, true};
  return {*parse_dtype(name), false};
}

void require_machine_precision(const Machine& machine, const Precision& precision, const std::string& name) {
  if (has_precision(machine, name)) return;
  if (machine.kind == "cpu" && precision.dtype == DType::bf16)  // says which instructions are missing
    return require_cpu_precision(capabilities_of(machine), precision.dtype, precision.tf32);
  std::vector<std::string> has;
  for (const std::string& other : precision_names())
    if (has_precision(machine, other)) has.push_back(other);
  reject(Hint{"choose one of them with `precision`, or another machine"},
         "{} does not compute in {}; it has {}", machine.name, name, fmt::join(has, ", "));
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
  Machine machine = name == "here" ? here_or_measure(threads, kQuickRoofline, true, warn)
                                   : with_threads(find_machine(name), threads);
  if (machine.kind == "cpu" && threads > machine.cores && warn)
    warn(fmt::format("{} has {} cores: `threads` of {} means all of them", machine.name, machine.cores,
                     threads));
  if (const std::string doubt = calibration_doubt(machine); warn && !doubt.empty()) warn(doubt);
  return machine;
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
