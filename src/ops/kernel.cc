#include "ops/kernel.h"

#include "ops/operator.h"

namespace headroom {

Work least_work(const Problem& problem, const Capabilities&) {
  const Cost cost = schema_of(problem.op).cost(problem);
  return {.flops = cost.flops(), .bytes = cost.bytes()};
}

bool is_product(std::string_view op) {
  for (std::string_view other :
       {"batch_norm", "layer_norm", "lrn", "local_contrast_norm", "softmax", "log_softmax", "resize"})
    if (op.starts_with(other)) return false;
  return true;
}

Verdict accepts_cpu_floats(const Problem& problem, const Capabilities&) {
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *list)
      if (type.dtype == DType::f16 || type.dtype == DType::bf16)
        return refuse(fmt::format("no {} arithmetic on the CPU", name_of(type.dtype)));
  return accept();
}

Verdict accepts_cuda_floats(const Problem& problem, const Capabilities& capabilities) {
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *list)
      if (type.dtype == DType::bf16 && capabilities.compute_capability < 80)
        return refuse("bf16 needs compute capability 8.0");
  return accept();
}

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

Verdict accepts(const Kernel& kernel, const Problem& problem, const Capabilities& capabilities) {
  if (Verdict v = takes_layouts(kernel.layouts, problem); !v.ok) return v;
  return kernel.accepts(problem, capabilities);
}

Verdict accepts_cpu_fp32(const Problem& problem, const Capabilities&) {
  if (const DType dtype = problem.outputs[0].dtype; dtype != DType::f32)
    return refuse(fmt::format("widens fp32, not {}", name_of(dtype)));
  return accept();
}

}  // namespace headroom
