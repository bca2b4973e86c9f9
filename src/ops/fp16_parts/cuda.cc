#include <memory>

#include "ops/cuda/fp16_parts.h"
#include "ops/cuda/gemm_wgmma.h"
#include "ops/cuda/launch.h"
#include "ops/cuda/tensor_map.h"
#include "ops/fp16_parts/fp16_parts.h"
#include "ops/product/cuda/shared.h"

namespace headroom {

Launcher prepare_fp16_parts_cuda(const Problem& problem, const LaunchContext& context) {
  const std::vector<PartsProblem> list = parts_problems(problem);
  cuda::PartsTask task{};
  task.count = static_cast<int>(list.size());
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const PartsProblem& p = list[i];
    task.of[i] = {.from = nullptr,
                  .rows = p.rows,
                  .columns = p.columns,
                  .ld = p.columns,
                  .to = nullptr,
                  .to_ld = p.ld,
                  .max_parts = p.parts,
                  .scale = nullptr};
    elements += p.rows * p.columns;
  }
  const std::int64_t blocks = parts_blocks(elements, context.target.device.multiprocessors);
  return [task, blocks](const LaunchArgs& a) {
    cuda::PartsTask now = task;
    for (std::size_t i = 0; i < static_cast<std::size_t>(task.count); ++i) {
      now.of[i].from = a.in<float>(i);
      now.of[i].to = a.outputs[2 * i];
      now.of[i].scale = a.out<cuda::PartsScale>(2 * i + 1);
    }
    now.found = static_cast<cuda::PartsFound*>(a.workspace);
    cuda::write_parts(now, blocks, cuda::stream_of(a));
  };
}

Launcher prepare_parts_product_cuda(const Problem& problem, const LaunchContext& context) {
  const PartsProduct p = parts_product(problem.inputs, problem.attrs);
  const PartsProductPlan plan = plan_parts_product(p.m, p.n, p.k, context.target.device.multiprocessors);
  const cuda::WgmmaKernel kernel = cuda::fp16x3_wgmma(p.trans_a, !p.trans_b);
  cuda::allow_shared(kernel);
  auto maps = std::make_shared<std::pair<cuda::PlacedMap, cuda::PlacedMap>>(
      cuda::parts_map(!p.trans_a, p.m, p.k, p.ld_a, p.parts_a),
      cuda::parts_map(p.trans_b, p.n, p.k, p.ld_b, p.parts_b));
  return [p, plan, kernel, maps](const LaunchArgs& a) {
    float* const c = a.out<float>(0);
    cuda::launch_wgmma(kernel, maps->first.at(a.inputs[0]), maps->second.at(a.inputs[2]),
                       {.bias = p.bias ? a.inputs[4] : nullptr,
                        .c = c,
                        .scale_a = a.in<cuda::PartsScale>(1),
                        .scale_b = a.in<cuda::PartsScale>(3),
                        .m = p.m,
                        .n = p.n,
                        .ldc = p.n,
                        .stride_c = 0,
                        .steps = plan.steps,
                        .splits = plan.splits,
                        .batch = 1,
                        .many_a = false,
                        .many_b = false,
                        .whole_c = products::whole_rows(c, p.n, 0, DType::f32),
                        .finish = p.activation,
                        .order = plan.order},
                       plan.blocks, cuda::stream_of(a));
  };
}

}  // namespace headroom
