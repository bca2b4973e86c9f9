// cuda:pixel_runs for windows of width 5.
#include "ops/conv2d/cuda/pixel_runs_sweep.cuh"

namespace headroom::cuda {

void conv2d_pixel_runs_5(const Sweep& s, const RunsPlan& q, const float* x, const float* w, const float* bias,
                         float* y, cudaStream_t stream) {
  runs_of<5>(q)(s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
