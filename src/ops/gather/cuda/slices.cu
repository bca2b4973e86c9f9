#include "ops/cuda/index.cuh"
#include "ops/gather/cuda/row_at.cuh"

namespace headroom::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads) copy_slices(GatherShape s, std::int64_t n, unsigned char outside,
                                                        const T* data, const void* indices, T* out) {
  T none;
  memset(&none, outside, sizeof none);
  for (std::int64_t k = thread_number(); k < n; k += thread_count()) {
    const Cut slice = cut(k, s.inner), place = cut(slice.whole, s.count);
    const std::int64_t row = row_at(s, indices, place.rest);
    out[k] = row < 0 ? none : data[(place.whole * s.extent + row) * s.inner + slice.rest];
  }
}

}  // namespace

void gather(int element_bytes, const GatherShape& given, unsigned char outside, const void* data,
            const void* indices, void* out, cudaStream_t stream) {
  GatherShape s = given;
  int bytes = element_bytes;
  while (bytes < 16 && s.inner % 2 == 0 && aligned_to(data, 2 * bytes) && aligned_to(out, 2 * bytes))
    bytes *= 2, s.inner /= 2;
  const std::int64_t n = s.outer * s.count * s.inner;
  const auto launch = [&]<class T>() {
    copy_slices<<<blocks_striding(n), kThreads, 0, stream>>>(s, n, outside, static_cast<const T*>(data),
                                                             indices, static_cast<T*>(out));
    HEADROOM_CUDA_LAUNCHED();
  };
  if (bytes == 16) return launch.template operator()<uint4>();
  dispatch_sizes(bytes, launch);
}

}  // namespace headroom::cuda
