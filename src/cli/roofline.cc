#include "machine/roofline.h"
#include "device/name.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/record_files.h"
#include "cli/verbs.h"
#include "report/machine_table.h"
#include "train/settings.h"

namespace headroom::cli {
namespace {

constexpr double kCpuSeconds = 6, kGpuSeconds = 25;

struct RooflineRequest {
  Common common;
  std::string device = "all";
  std::optional<double> seconds;  // per device
  RecordFiles files;
};

// Prints all before it saves, and a folder that cannot be written loses only the saving.
void save_all(const std::vector<Machine>& machines, bool json) {
  for (const Machine& machine : machines) try {
      if (!machine.doubt.empty()) {
        if (!json) print(fmt::format("not saved: {}\n", machine.doubt));
        continue;
      }
      save_machine(with_saved_link(machine));
      if (!json)
        print(fmt::format("saved as machine '{}': {}\n", machine.name, machine_file(machine.name).string()));
    } catch (const Error& error) {
      warn(fmt::format("'{}' was not saved, so later runs measure again: {}", machine.name, error.what()));
    }
}

std::vector<Machine> measure(const RooflineRequest& request) {
  // Checked before any measurement, so that a wrong name or a missing GPU costs no time.
  const bool cpu = request.device == "all" || request.device == "cpu";
  const bool found = request.device == "all" && !survey_gpus().gpus.empty();
  if (!cpu && !device_name(request.device).starts_with("cuda"))
    reject(nearest(request.device, std::vector<std::string>{"all", "cpu", "cuda", "gpu"}),
           "unknown device '{}'", request.device);
  std::unique_ptr<Device> gpu;
  if (found || !cpu) gpu = open_device(found ? "cuda" : request.device);

  Progress progress("measuring");
  auto say = [&](const std::string& stage) { progress.line("measuring " + stage); };
  std::vector<Machine> machines;
  if (cpu)
    machines.push_back(measure_cpu(request.common.threads, request.seconds.value_or(kCpuSeconds), say));
  if (gpu) machines.push_back(measure_gpu(*gpu, request.seconds.value_or(kGpuSeconds), say));
  return machines;
}

}  // namespace

void add_roofline(Command app) {
  auto request = std::make_shared<RooflineRequest>();
  Command verb = app.verb("roofline", "measure this machine's ceilings and save them as the machine 'here'");
  add_json(verb, request->common);
  verb.option("--device", request->device, "cpu, cuda (saved as 'here-gpu'), or all");
  verb.option("--threads", request->common.threads, "CPU threads; 0: one per core");
  verb.option("--seconds", request->seconds, "how long to measure (CPU: 6, GPU: 25)");
  add_record_options(verb, request->files);
  verb.example("headroom roofline");
  verb.runs([request] {
    require_threads(request->common.threads);
    if (request->seconds && !(*request->seconds >= 0.1 && *request->seconds <= 600))
      reject("--seconds is {}; it must lie between 0.1 and 600", *request->seconds);
    require_files(request->files);
    const std::vector<Machine> machines = measure(*request);
    if (request->common.json) {
      Json json = to_json(machines[0]);
      if (machines.size() > 1) json["gpu"] = to_json(machines[1]);
      print_json(json);
    } else {
      for (const Machine& machine : machines)
        print(fmt::format("{}\n{}\n", machine_page(machine), draw_roofline(machine)));
    }
    flush_output();
    save_all(machines, request->common.json);
    RunRecord record = start_record("roofline", command_line());
    record.machine = machines.back();  // the GPU, if there is one
    write_files(request->files, {.record = std::move(record)});
  });
}

}  // namespace headroom::cli
