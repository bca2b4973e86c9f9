#include "train/planned.h"

#include "ops/operator.h"
#include "train/program.h"

namespace headroom {
namespace {

constexpr int kOldestBuilt = 75;  // nvcc 13 compiles for no older device

Capabilities capabilities_of(const Machine& machine, const PlanRequest& request) {
  if (machine.kind == "cpu") return cpu_capabilities(request.threads);
  Capabilities gpu{.kind = DeviceKind::cuda, .name = machine.title};
  gpu.compute_capability = machine.compute_capability;
  gpu.multiprocessors = machine.cores;
  gpu.memory_bytes = static_cast<std::size_t>(machine.memory().bytes);
  gpu.tf32 = request.tf32;
  return gpu;
}

bool is_vendors(const Kernel& kernel) {
  return kernel.name.find("cublas") != kernel.name.npos || kernel.name.find("cudnn") != kernel.name.npos;
}

// Own kernels cannot be built for such a GPU; NVIDIA's libraries of its day could be.
Choice vendors_only(const Problem& problem, const Capabilities& capabilities) {
  for (const Kernel& kernel : operator_of(problem.op).kernels)
    if (is_vendors(kernel) && kernel.accepts(problem, capabilities).ok)
      return {&kernel, "the vendor's: ours are not built for so old a GPU", {}};
  return {nullptr, "none is built for so old a GPU: the least work", {}};
}

// A precision that a machine lacks leaves an operator without kernels: its floor is all there is to say.
// Where it is the user's choice alone that fails, that is an error.
Chooser or_none(Chooser choose) {
  return [choose = std::move(choose)](const Problem& problem, const Capabilities& capabilities) {
    try {
      first_that_accepts(problem, capabilities);
    } catch (const Error& error) {
      return Choice{nullptr, error.what(), {}};
    }
    return choose(problem, capabilities);
  };
}

}  // namespace

Plan plan_on(const Machine& machine, const Net& net, const PlanRequest& request, const Chooser& choose) {
  const Capabilities capabilities = capabilities_of(machine, request);
  const bool gpu = capabilities.kind == DeviceKind::cuda;
  Program program = request.mode == Mode::eval && net.imported
                        ? make_forward(net, request.batch, request.dtype)
                        : make_program(net, request.mode, request.batch,
                                       {.dtype = request.dtype,
                                        .update = request.update,
                                        .tally = gpu && request.mode == Mode::train,
                                        .fuse_head = gpu && request.dtype == DType::f32,
                                        .layout = LayoutWish::automatic,
                                        .capabilities = capabilities,
                                        .fuse_blocks = !gpu});
  const bool old = gpu && capabilities.compute_capability < kOldestBuilt;
  return make_plan(std::move(program.graph), {request.mode, request.batch, request.dtype, capabilities},
                   old   ? vendors_only
                   : gpu ? or_none(choose)
                         : even_without_kernel(choose));
}

}  // namespace headroom
