#include "ops/l2_penalty/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/l2_penalty/l2_penalty.h"

namespace headroom {

Launcher prepare_l2_penalty_cuda(const Problem& p, const LaunchContext&) {
  const std::size_t base = penalty_base(p.attrs);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = base; i < p.inputs.size(); ++i) sizes.push_back(p.inputs[i].shape.numel());
  return [sizes, base, dtype = p.outputs[0].dtype, lambda = p.attrs.real("lambda")](const LaunchArgs& a) {
    cuda::TensorTable table;
    unsigned before = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      table.at[table.add(sizes[i], cuda::kSquaresChunk)][0] = const_cast<void*>(a.inputs[base + i]);
      const bool last = i + 1 == sizes.size();
      if (!table.full() && !last) continue;
      cuda::squares(dtype, table, static_cast<double*>(a.workspace), before, last, lambda / 2,
                    base > 0 ? a.inputs[0] : nullptr, a.outputs[0], cuda::stream_of(a));
      before += table.blocks();
      table = {};
    }
  };
}

}  // namespace headroom
