#pragma once

// Tensors whose channels lie side by side, by packs of 16 bytes or by single elements.

#include "ops/cuda/index.cuh"
#include "ops/pool/cuda/windows.cuh"

namespace headroom::cuda {

struct At {
  std::int64_t image;
  int row, column, pack;
};
__device__ inline At at_of(std::int64_t n, int height, int width, int packs) {
  const Cut place = cut(n, packs), row = cut(place.whole, width), image = cut(row.whole, height);
  return {image.whole, static_cast<int>(image.rest), static_cast<int>(row.rest),
          static_cast<int>(place.rest)};
}

template <class T, int kV>
struct Tensor {
  using P = Pack<T, kV>;
  const P* data;
  int height, width, packs;
  __device__ std::int64_t place(std::int64_t image, int row, int column, int pack) const {
    return ((image * height + row) * width + column) * packs + pack;
  }
};

template <class T, int kV>
struct View {
  Tensor<T, kV> in, out;  // images; outputs
  __device__ View(const PoolRows& p, const void* x, const void* y)
      : in{static_cast<const Pack<T, kV>*>(x), p.pool.rows.input, p.pool.columns.input, p.channels / kV},
        out{static_cast<const Pack<T, kV>*>(y), p.pool.rows.output, p.pool.columns.output, p.channels / kV} {}
};

// Calls f.operator()<T, kV>(packs of all inputs, of all outputs): whole packs of 16 bytes, or single
// elements.
template <class F>
void dispatch_rows(DType dtype, const PoolRows& p, F&& f) {
  const std::int64_t in = p.images * p.pool.rows.input * p.pool.columns.input,
                     out = p.images * p.pool.rows.output * p.pool.columns.output;
  dispatch_floats(dtype, [&]<class T>() {
    constexpr int kV = kPack<T>;
    if (p.channels % kV == 0)
      f.template operator()<T, kV>(in * (p.channels / kV), out * (p.channels / kV));
    else
      f.template operator()<T, 1>(in * p.channels, out * p.channels);
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
