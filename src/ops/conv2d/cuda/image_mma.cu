// Convolution of images in shared memory in exact fp32; rounded products are compiled beside it.
#include "ops/conv2d/cuda/slide.cuh"

namespace headroom::cuda {

void conv2d_image_mma(DType dtype, bool tf32, const Sweep& s, const ImagePlan& q, const void* x,
                      const void* w, const void* bias, void* y, cudaStream_t stream) {
  if (dtype != DType::f32 || tf32) return conv2d_image_mma_rounded(dtype, s, q, x, w, bias, y, stream);
  launcher<true>(q.maps8, q.rows16 == 1)(dtype, s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
