#pragma once

// Launchers of the convolution kernels. Pointers are to the tensors as the operators take them; `partial` is
// workspace.

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/conv2d/folding.h"
#include "ops/conv2d/sweep.h"

namespace headroom::cuda {

// y = f(x * w + bias), or dx from dy: whichever the sweep describes.
void conv2d_direct(DType dtype, const Sweep& s, const void* x, const void* w, const void* bias, void* y,
                   cudaStream_t stream);
void conv2d_few(DType dtype, const Sweep& s, const FewPlan& q, const void* x, const void* w, const void* bias,
                void* y, cudaStream_t stream);
void conv2d_image(DType dtype, bool tf32, const Sweep& s, const ImagePlan& q, const void* x, const void* w,
                  const void* bias, void* y, cudaStream_t stream);
void conv2d_image_rounded(DType dtype, const Sweep& s, const ImagePlan& q, const void* x, const void* w,
                          const void* bias, void* y, cudaStream_t stream);  // its part for tf32 and 16 bits
void conv2d_implicit(DType dtype, bool tf32, const Sweep& s, int pieces, const void* x, const void* w,
                     const void* bias, void* y, void* partial, cudaStream_t stream);

// dw, for the sweep of the forward product, in two launches: partial sums, then their sum.
void conv2d_direct_weight(DType dtype, const Sweep& s, int pieces, const void* x, const void* dy, void* dw,
                          void* partial, cudaStream_t stream);
void conv2d_few_weight(DType dtype, const Sweep& s, const FewPlan& q, const void* x, const void* dy, void* dw,
                       void* partial, cudaStream_t stream);
void conv2d_image_weight(DType dtype, bool tf32, const Sweep& s, const ImagePlan& q, const void* x,
                         const void* dy, void* dw, void* partial, cudaStream_t stream);
void conv2d_implicit_weight(DType dtype, bool tf32, const Sweep& s, int pieces, const void* x, const void* dy,
                            void* dw, void* partial, cudaStream_t stream);

// The copy, all of it; and images from one: what lies inside them. Copies are aligned to 16 bytes.
void conv2d_fold(DType dtype, const Folding& f, const void* images, void* copy, cudaStream_t stream);
void conv2d_unfold(DType dtype, const Folding& f, const void* copy, void* images, cudaStream_t stream);

// What a finished sum still needs: f(sum + bias[i / plane % maps]).
struct Epilogue {
  const void* bias = nullptr;
  std::int64_t plane = 1;
  int maps = 1;
  int activation = 0;
};
// out[i] = f(sum of partial[piece][i]), in fp32 (fp64), in a fixed order.
void sum_pieces(DType dtype, std::int64_t n, int pieces, const void* partial, void* out, cudaStream_t stream,
                const Epilogue& finish = {});

// y = f(y + bias) in place, for libraries that do not fuse it.
void conv2d_finish(DType dtype, const Sweep& s, const void* bias, void* y, cudaStream_t stream);

// The same for NHWC: rows of `maps`.
void conv2d_finish_rows(DType dtype, std::int64_t rows, int maps, int activation, const void* bias, void* y,
                        cudaStream_t stream);

}  // namespace headroom::cuda
