#include "ops/cuda/index.cuh"
#include "ops/roi_align/cuda.h"

namespace headroom::cuda {
namespace {

// A thread for each result.
template <class T>
__global__ void __launch_bounds__(kThreads)
    bins(RoiShape s, bool wide, const T* x, const T* regions, const void* images, T* y) {
  using C = Compute<T>;
  const std::int64_t n = s.regions * s.channels * s.output_rows * s.output_columns;
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const Cut column = cut(i, s.output_columns), row = cut(column.whole, s.output_rows),
              channel = cut(row.whole, s.channels);
    const std::int64_t region = channel.whole;
    std::int64_t image =
        wide ? static_cast<const long long*>(images)[region] : static_cast<const int*>(images)[region];
    if (image < 0) image += s.images;
    if (image < 0 || image >= s.images) {
      y[i] = narrow<T>(C(NAN));
      continue;
    }
    const C corners[4] = {widen(regions[4 * region]), widen(regions[4 * region + 1]),
                          widen(regions[4 * region + 2]), widen(regions[4 * region + 3])};
    const T* map = x + (image * s.channels + channel.rest) * s.rows * s.columns;
    const auto pixel = [&](int r, int c) { return widen(map[std::int64_t{r} * s.columns + c]); };
    y[i] =
        narrow<T>(roi_bin<C>(s, corners, static_cast<int>(row.rest), static_cast<int>(column.rest), pixel));
  }
}

}  // namespace

void roi_align(DType dtype, const RoiShape& s, bool wide_images, const void* x, const void* regions,
               const void* images, void* y, cudaStream_t stream) {
  const std::int64_t n = s.regions * s.channels * s.output_rows * s.output_columns;
  dispatch_floats(dtype, [&]<class T>() {
    bins<<<blocks_striding(n), kThreads, 0, stream>>>(
        s, wide_images, static_cast<const T*>(x), static_cast<const T*>(regions), images, static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
