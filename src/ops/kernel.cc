#include "ops/kernel.h"

#include <algorithm>

#include "ops/operator.h"

namespace headroom {
namespace kernel_cc {
namespace {

// Products have a kernel for every processor; convolutions have others.
std::string packed_instead(const Problem& problem) {
  const std::vector<Kernel>& kernels = operator_of(problem.op).kernels;
  const bool has_packed = std::ranges::find(kernels, "cpu:packed", &Kernel::name) != kernels.end();
  return has_packed ? "; cpu:packed runs on any processor" : "";
}

}  // namespace
}  // namespace kernel_cc

Work least_work(const Problem& problem, const Target&) {
  const Cost cost = schema_of(problem.op).cost(problem);
  const DType dtype = problem.outputs.empty() ? DType::f32 : problem.outputs[0].dtype;
  return {{{.unit = ordinary_unit(dtype), .flops = cost.flops(), .bytes = cost.bytes()}}};
}

Verdict accepts_cpu_floats(const Problem& problem, const Target&) {
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *list)
      if (type.dtype == DType::f16 || type.dtype == DType::bf16)
        return refuse(fmt::format("no {} arithmetic on the CPU", name_of(type.dtype)));
  return accept();
}

Verdict accepts_cpu_bf16(const Problem& problem, const Target& target) {
  if (!target.device.bf16_products)
    return refuse("no bf16 instructions: needs AMX-BF16, AVX512-BF16 or BF16 of Arm" +
                  kernel_cc::packed_instead(problem));
  if (!target.policy.bf16) return refuse("rounds factors to bf16: `precision` bf16 allows that");
  return accepts_cpu_fp32(problem, target);
}

Verdict accepts_cpu_bf16x6(const Problem& problem, const Target& target) {
  if (!target.device.bf16_tiles) return refuse("needs AMX-BF16" + kernel_cc::packed_instead(problem));
  return accepts_cpu_fp32(problem, target);
}

Verdict accepts_cuda_floats(const Problem& problem, const Target& target) {
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *list)
      if (type.dtype == DType::bf16 && target.device.compute_capability < 80)
        return refuse("bf16 needs compute capability 8.0");
  return accept();
}

namespace kernel_cc {
namespace {

bool any_nhwc(const Problem& p) {
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list)
      if (type.layout == Layout::nhwc) return true;
  return false;
}

Verdict takes_layouts(Layouts layouts, const Problem& p) {
  if (layouts == Layouts::any || !any_nhwc(p)) return accept();
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list) {
      if (layouts == Layouts::nchw && !type.lies_as(Layout::nchw)) return refuse("reads NCHW, not NHWC");
      if (layouts == Layouts::alike && !type.lies_as(Layout::nhwc)) return refuse("layouts differ");
      if (layouts == Layouts::elementwise &&
          (type.shape != p.outputs[0].shape || !type.lies_as(p.outputs[0].layout)))
        return refuse("shapes or layouts differ");
    }
  return accept();
}

}  // namespace
}  // namespace kernel_cc

Verdict accepts(const Kernel& kernel, const Problem& problem, const Target& target) {
  using namespace kernel_cc;
  if (Verdict v = takes_layouts(kernel.layouts, problem); !v.ok) return v;
  return kernel.accepts(problem, target);
}

Verdict accepts_cpu_fp32(const Problem& problem, const Target&) {
  if (const DType dtype = problem.outputs[0].dtype; dtype != DType::f32)
    return refuse(fmt::format("widens fp32, not {}", name_of(dtype)));
  return accept();
}

}  // namespace headroom
