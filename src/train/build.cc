#include "train/build.h"

#include <algorithm>

#include "base/units.h"
#include "ops/operator.h"

namespace headroom {
namespace {

constexpr int kOldestBuilt = 75;  // nvcc 13 does not compile for older devices

// Our own kernels cannot be built for such a GPU. NVIDIA's libraries of that time could.
Choice choose_vendors(const Problem& problem, const Target& target) {
  for (const Kernel& kernel : operator_of(problem.op).kernels)
    if (kernel.vendor && kernel.device == target.device.kind && kernel.accepts(problem, target).ok)
      return {&kernel, "the vendor's kernel: ours are not built for a GPU this old", {}};
  return {nullptr, "no kernel is built for a GPU this old: the minimum work", {}};
}

// Empty if a kernel of the list takes the problem.
std::string why_none_accepts(const Problem& problem, const Target& target) {
  try {
    first_that_accepts(problem, target);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

Built build(const Net& net, const BuildRequest& request) {
  return finish_build(start_build(net, request), net, request);
}

BuildStart start_build(const Net& net, const BuildRequest& request) {
  BuildStart start;
  start.program = make_common(net, request, &start.passes);
  return start;
}

namespace {

Built with_passes(const BuildStart& start, const Net& net, const BuildRequest& request) {
  Built built{.program = {}, .plan = {}, .passes = start.passes};
  built.program = finish_program(start.program, net, request, &built.passes);
  return built;
}

Plan plan_of(Graph graph, const Net& net, const BuildRequest& request) {
  const bool gpu = request.target.device.kind == DeviceKind::cuda;
  const Binding binding{request.mode, planned_batch(net, request), request.precision, request.target,
                        gpu ? request.streams : 1};
  return make_plan(std::move(graph), binding, request.choose);
}

}  // namespace

Built finish_build(const BuildStart& start, const Net& net, const BuildRequest& request) {
  Built built = with_passes(start, net, request);
  built.plan = plan_of(built.program.graph, net, request);
  return built;
}

Built finish_to_read(const BuildStart& start, const Net& net, const BuildRequest& request) {
  Built built = with_passes(start, net, request);
  built.plan = plan_of(std::move(built.program.graph), net, request);
  return built;
}

Phase phase_of(const Plan& plan, ValueId value) {
  const NodeId producer = plan.graph.value(value).producer;
  const auto step = std::ranges::find(plan.steps, producer, &Step::node);
  return step == plan.steps.end() ? Phase::forward : step->phase;
}

std::string Built::explain() const {
  std::string text = "passes:\n";
  for (const PassReport& report : passes)
    text += fmt::format("  {:<18}{}\n", report.pass, report.change.empty() ? "no change" : report.change);
  int streams = 1;  // that its steps really use: large networks keep to one
  for (const Step& step : plan.steps) streams = std::max(streams, step.stream + 1);
  text += fmt::format("  {:<18}{} steps on {} {}, {} of memory ({} if none were shared)\n", "plan",
                      plan.steps.size(), streams, streams == 1 ? "stream" : "streams",
                      human_bytes(double(plan.arena_bytes)), human_bytes(double(plan.unshared_bytes)));
  return text + "steps:\n" + plan.explain();
}

namespace {

// Instructions on vectors multiply bf16 at up to four times the rate of fp32, those on tiles at sixteen
// times.
bool has_tiles(const Machine& machine) {
  const auto bf16 = machine.peak_flops.find("bf16"), fp32 = machine.peak_flops.find("fp32");
  return bf16 != machine.peak_flops.end() && fp32 != machine.peak_flops.end() &&
         bf16->second > 5 * fp32->second;
}

}  // namespace

Capabilities capabilities_of(const Machine& machine, int threads) {
  if (machine.kind == "cpu") {
    if (machine.name == "here" || machine.cores == 0) return cpu_capabilities(threads);
    Capabilities cpu{.kind = DeviceKind::cpu, .name = machine.title};
    cpu.threads = threads > 0 ? std::min(threads, machine.cores) : machine.cores;
    if (machine.vector_bytes > 0) cpu.vector_bytes = machine.vector_bytes;
    cpu.bf16_products = machine.peak_flops.contains("bf16");
    cpu.bf16_tiles = has_tiles(machine);
    cpu.memory_bytes = static_cast<std::size_t>(machine.memory().bytes);
    return cpu;
  }
  if (machine.name == "here-gpu")
    for (const Capabilities& gpu : survey_gpus().gpus)
      if (gpu.name == machine.title) return gpu;
  Capabilities gpu{.kind = DeviceKind::cuda, .name = machine.title};
  gpu.compute_capability = machine.compute_capability;
  gpu.multiprocessors = machine.cores;
  gpu.memory_bytes = static_cast<std::size_t>(machine.memory().bytes);
  return gpu;
}

bool vendors_only(const Capabilities& device) {
  return device.kind == DeviceKind::cuda && device.compute_capability < kOldestBuilt;
}

Chooser for_reading(const Capabilities& device, Chooser choose) {
  if (vendors_only(device)) return choose_vendors;
  if (device.kind != DeviceKind::cuda) return even_without_kernel(std::move(choose));
  return [choose = std::move(choose)](const Problem& problem, const Target& target) {
    try {
      return choose(problem, target);
    } catch (const Error&) {
      if (const std::string why = why_none_accepts(problem, target); !why.empty())
        return Choice{nullptr, why, {}};
      throw;  // about what the user asked for
    }
  };
}

}  // namespace headroom
