#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "ops/window2d.h"

namespace headroom::cuda {

// One factor of a product of bytes, and its zero points: one for all, or one for each row or column.
struct Bytes {
  const void *data, *zeros;
  bool is_signed, zero_each;
};

// c[m,n] of row-major a[m,k] and b[k,n].
void integer_product(std::int64_t m, std::int64_t n, std::int64_t k, const Bytes& a, const Bytes& b,
                     std::int32_t* c, cudaStream_t stream);

struct IntegerConvolution {
  std::int64_t batch, channels, maps, groups;
  Window2d window;
};
void integer_convolution(const IntegerConvolution& shape, const Bytes& x, const Bytes& w, std::int32_t* y,
                         cudaStream_t stream);

}  // namespace headroom::cuda
