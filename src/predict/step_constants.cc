#include "predict/step_constants.h"

#include <algorithm>
#include <cmath>

#include "ops/cpu/parallel.h"
#include "predict/time_model.h"

namespace headroom {
namespace {

double row_of(const std::vector<TensorType>& tensors) {
  if (tensors.empty() || tensors[0].shape.rank() == 0) return 1;
  return double(tensors[0].shape[tensors[0].shape.rank() - 1]);
}

// Convolutions have their taps in the shape of their filters, pools in an attribute.
double taps_of(const Problem& problem) {
  double taps = 1;
  for (const std::int64_t side : problem.attrs.integers("kernel")) taps *= double(side);
  if (!problem.op.starts_with("conv2d") || problem.inputs.size() < 2) return taps;
  const Shape& filters =
      problem.op == "conv2d_grad_weight" ? problem.outputs[0].shape : problem.inputs[1].shape;
  return filters.rank() == 4 ? double(filters[2] * filters[3]) : taps;
}

// Pools move by their window unless they say otherwise.
double stride_of(const Problem& problem) {
  for (const char* name : {"strides", "kernel"})
    if (const auto list = problem.attrs.integers(name); !list.empty()) return double(list[0]);
  return 1;
}

// Values that follow each other in memory.
double inner_of(const TensorType& type) {
  if (type.shape.rank() == 0) return 1;
  return double(type.shape[type.layout == Layout::nhwc ? 1 : type.shape.rank() - 1]);
}

// Blocks work off their tiles term by term; those of one multiprocessor are taken to follow each other. Where
// a library does not tell its tiles, they are taken to be large ones, and no reduction to be split.
void count_chain(StepAmounts& a, const Step& step, const KernelLaunch& main, const Machine& machine) {
  constexpr double kTileEdge = 128;
  if (machine.kind == "cpu" || a.m <= 0 || a.n <= 0) return;
  const double cores = std::max(1, machine.cores);
  if (main.tile.m > 0 && main.tile.n > 0 && main.blocks > 0) {
    const double busy = std::min(double(main.blocks), cores);
    a.chain = a.flops / (2 * double(main.tile.m) * double(main.tile.n)) / busy;
    const double values = main.l2_bytes > 0 && !step.problem.inputs.empty()
                              ? main.l2_bytes / double(size_of(step.problem.inputs[0].dtype))
                              : a.flops / (2 * double(main.tile.n) * a.geometry.taps);
    a.staged = values / busy;
  } else {
    a.chain = a.k * std::max(1.0, std::ceil(a.m / kTileEdge) * std::ceil(a.n / kTileEdge) / cores);
  }
}

// Pieces that cores share out; 0: enough for all. Elementwise kernels of CPUs leave short vectors to one
// thread.
double pieces_of(const Step& step, const KernelLaunch& main, const Machine& machine) {
  if (main.blocks > 0) return double(main.blocks);
  if (main.family != "plain" || machine.kind != "cpu") return 0;
  std::int64_t elements = 1;
  for (const auto* list : {&step.problem.inputs, &step.problem.outputs})
    for (const TensorType& type : *list) elements = std::max(elements, type.shape.numel());
  return std::ceil(double(elements) / kElementwiseGrain);
}

void leave_cores_idle(StepAmounts& a, double pieces, const Machine& machine, const Machine::Level& level,
                      const Machine::Level& far) {
  const double cores = machine.cores;
  if (pieces <= 0 || cores <= 1) return;
  // The threads of a CPU wait for the last of them. Blocks of a GPU share a multiprocessor: there it is
  // smooth.
  const double rounds = machine.kind == "cpu" ? std::ceil(pieces / cores) : std::max(1.0, pieces / cores);
  a.peak *= pieces / (rounds * cores);
  if (level.one_core_bytes_per_s > 0) a.rate = std::min(a.rate, pieces * level.one_core_bytes_per_s);
  if (far.one_core_bytes_per_s > 0) a.far_rate = std::min(a.far_rate, pieces * far.one_core_bytes_per_s);
}

// Kernels of GPUs are other code where channels lie side by side, and where groups have few of them.
std::string code_of(const Problem& problem) {
  std::string code;
  if (!problem.inputs.empty() && problem.inputs[0].layout == Layout::nhwc) code += " nhwc";
  if (problem.attrs.integer("groups", 1) > 1) code += " grouped";
  return code;
}

// No kernel is built for this GPU: NVIDIA's libraries of its time are what runs such steps there.
std::string_view library_family(const Step& step) {
  const bool fp64 = float_type(step.problem) == DType::f64;
  if (step.cost.multiply_add <= 0) return "plain";
  if (step.problem.op.starts_with("conv")) return fp64 ? "cudnn.fp64" : "cudnn.fp32";
  return fp64 ? "cublaslt.fp64" : "cublaslt.fp32";
}

// The rate of a unit; of tensor cores that a machine file leaves out, what it says of the others: TF32 runs
// at half the rate of 16-bit types. Vectors where there is no such unit.
double unit_peak(const Machine& machine, Unit unit, DType dtype) {
  const auto rate = [&](Unit of) {
    const auto found = machine.peak_flops.find(std::string(name_of(of)));
    return found == machine.peak_flops.end() ? 0 : found->second;
  };
  if (const double known = rate(unit); known > 0) return known;
  const double half_types = std::max(rate(Unit::bf16), rate(Unit::fp16)),
               vectors = vector_peak(machine, dtype);
  if (machine.kind == "cpu" || machine.compute_capability < 80) return vectors;
  if (unit == Unit::tf32) return std::max(half_types / 2, vectors);
  if (unit == Unit::bf16 || unit == Unit::fp16) return std::max(half_types, vectors);
  return vectors;
}

}  // namespace

StepAmounts amounts_of(const Step& step, const Machine& machine, const Target& target) {
  StepAmounts a;
  const KernelLaunch main = step.work.launches.empty() ? KernelLaunch{} : step.work.launches.front();
  a.family = main.family;
  a.kind.append(step.kernel_name()).append(" ").append(step.problem.op);  // for every step of every machine
  if (step.kernel == nullptr && machine.kind != "cpu") a.family = library_family(step);
  if (machine.kind != "cpu") a.kind += code_of(step.problem);
  const bool tf32 = target.policy.tf32 && main.extent.m > 0;  // all that is no product runs as ever
  if (tf32 || is_16bit(float_type(step.problem))) a.kind += tf32 ? kTf32Kind : k16bitKind;
  a.flops = step.work.flops() / std::max(1e-3, main.useful);
  a.peak = unit_peak(machine, main.unit, float_type(step.problem));
  a.bytes = step.work.bytes();
  const Machine::Level& level = machine.level_for(a.bytes + static_cast<double>(step.workspace));
  a.rate = level.bytes_per_s, a.level = level.name;
  const Machine::Level& far = machine.memory();
  if (far.name != level.name) a.far_rate = far.bytes_per_s;
  leave_cores_idle(a, pieces_of(step, main, machine), machine, level, far);
  a.m = double(main.extent.m), a.n = double(main.extent.n), a.k = double(main.extent.k);
  a.launches = step.work.launch_count();
  a.geometry = {row_of(step.problem.inputs), row_of(step.problem.outputs), taps_of(step.problem),
                stride_of(step.problem)};
  if (!step.problem.inputs.empty()) {
    a.geometry.inner = inner_of(step.problem.inputs[0]);
    a.geometry.channels_last = step.problem.inputs[0].layout == Layout::nhwc ? 1 : 0;
  }
  count_chain(a, step, main, machine);
  return a;
}

double StepTimeParts::busy() const {
  const double longest = std::max(compute, memory);
  if (longest <= 0) return latency;
  const double a = compute / longest, b = memory / longest;
  return longest * std::pow(a * a * a * a + b * b * b * b, 0.25) + latency;
}

StepTimeParts parts_of(const StepAmounts& a, const StepConstants& c) {
  double share = c.efficiency;
  for (const auto& [extent, half] : {std::pair{a.m, c.half_m}, {a.n, c.half_n}, {a.k, c.half_k}})
    if (extent > 0) share *= extent / (extent + half);
  const double rate = a.far_rate > 0 ? std::max(a.rate * c.cache_share, a.far_rate * c.memory_share)
                                     : a.rate * c.memory_share;
  return {.compute = time_at(a.flops, a.peak * share),
          .memory = time_at(a.bytes, rate),
          .start = a.launches * c.start_s,
          .latency = a.chain * c.chain_s + a.staged * c.stage_s};
}

std::string bound_of(const StepTimeParts& parts, const StepAmounts& amounts) {
  if (parts.start > parts.busy()) return "launch";
  return parts.compute + parts.latency >= parts.memory ? "compute" : amounts.level;
}

}  // namespace headroom
