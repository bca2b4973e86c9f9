// Convolution of images in shared memory for tf32 and 16 bits.
#include "ops/conv2d/cuda/slide.cuh"

namespace headroom::cuda {

void conv2d_image_mma_rounded(DType dtype, const Sweep& s, const ImagePlan& q, const void* x, const void* w,
                              const void* bias, void* y, cudaStream_t stream) {
  launcher<false>(q.maps8, q.rows16 == 1)(dtype, s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
