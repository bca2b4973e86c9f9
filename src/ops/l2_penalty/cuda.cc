#include "ops/l2_penalty/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/l2_penalty/l2_penalty.h"

namespace headroom {

Launcher prepare_l2_penalty_cuda(const Problem& p, const Capabilities&) {
  std::vector<std::int64_t> sizes;
  for (const TensorType& type : p.inputs) sizes.push_back(type.shape.numel());
  return [sizes, dtype = p.outputs[0].dtype, lambda = p.attrs.real("lambda")](const LaunchArgs& a) {
    cuda::TensorTable table;
    unsigned before = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      table.at[table.add(sizes[i], cuda::kSquaresChunk)][0] = const_cast<void*>(a.inputs[i]);
      const bool last = i + 1 == sizes.size();
      if (!table.full() && !last) continue;
      cuda::squares(dtype, table, static_cast<double*>(a.workspace), before, last, lambda / 2, a.outputs[0],
                    cuda::stream_of(a));
      before += table.blocks();
      table = {};
    }
  };
}

}  // namespace headroom
