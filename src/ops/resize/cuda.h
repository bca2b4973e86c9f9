#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

enum class ResizePlace { half_pixel, asymmetric, align_corners };
enum class ResizeRounding { none, prefer_floor, prefer_ceil, floor, ceil };  // none: bilinear

struct ResizeShape {
  std::int64_t planes = 1;
  int rows = 1, columns = 1;                 // of x
  int out_rows = 1, out_columns = 1;         // of y
  double scale_rows = 0, scale_columns = 0;  // 0: as the sizes say
  ResizePlace place = ResizePlace::half_pixel;
  ResizeRounding rounding = ResizeRounding::none;
};

// Which elements an output reads, or which outputs an input is read by: for each axis once, before the
// planes.
struct ResizeTap {
  double weight;  // of low + 1
  int low;
  int begin, end;  // backwards: the outputs that may read this input
};

// taps: one for each row of x or y, whichever has more, then likewise for columns.
void resize(DType dtype, const ResizeShape& shape, const void* x, ResizeTap* taps, void* y,
            cudaStream_t stream);
void resize_grad(DType dtype, const ResizeShape& shape, const void* dy, ResizeTap* taps, void* dx,
                 cudaStream_t stream);

}  // namespace headroom::cuda
