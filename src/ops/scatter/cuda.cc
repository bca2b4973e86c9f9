#include "ops/scatter/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/scatter/combine.h"
#include "ops/scatter/scatter.h"

namespace headroom {

Launcher prepare_scatter_cuda(const Problem& p, const LaunchContext&) {
  const Shape& data = p.inputs[0].shape;
  return [dtype = p.outputs[0].dtype,
          shape = cuda::ScatterShape{data[0], data.numel() / data[0], p.inputs[1].shape[0],
                                     p.inputs[1].dtype == DType::i64,
                                     static_cast<int>(reduction_of(p))}](const LaunchArgs& a) {
    cuda::scatter(dtype, shape, a.inputs[0], a.inputs[1], a.inputs[2], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
