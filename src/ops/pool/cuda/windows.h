#pragma once

// Pooling on the device: sliding windows and adaptive ones alike.

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

struct PoolAxis {
  int input = 1, output = 1;
  bool adaptive = false;  // windows as adaptive_pool.h has them; then the rest is not looked at
  int kernel = 1, stride = 1, dilation = 1, pad = 0, pad_end = 0;
};

struct Pool {
  std::int64_t planes = 1;
  PoolAxis rows, columns;
  bool count_include_pad = false;
  bool pairs = false;  // 2x2 windows that step by 2 and cover the input exactly
  int slope = 0;       // of max_pool_grad: the activation before it, as headroom::Activation counts
};

void max_pool(DType dtype, const Pool& pool, const void* x, void* y, cudaStream_t stream);
void mean_pool(DType dtype, const Pool& pool, const void* x, void* y, cudaStream_t stream);
// places: an int for each output, where `pairs` is false.
void max_pool_grad(DType dtype, const Pool& pool, const void* dy, const void* x, int* places, void* dx,
                   cudaStream_t stream);
void mean_pool_grad(DType dtype, const Pool& pool, const void* dy, void* dx, cudaStream_t stream);

// Channels side by side: images of rows x columns places, `channels` elements each. `planes` is not looked
// at.
struct PoolRows {
  Pool pool;
  std::int64_t images = 1;
  int channels = 1;
};
void max_pool_rows(DType dtype, const PoolRows& pool, const void* x, void* y, cudaStream_t stream);
void mean_pool_rows(DType dtype, const PoolRows& pool, const void* x, void* y, cudaStream_t stream);
// places: for each output a byte where place_bytes says 1, else an int.
void max_pool_grad_rows(DType dtype, const PoolRows& pool, const void* dy, const void* x, void* places,
                        void* dx, cudaStream_t stream);
void mean_pool_grad_rows(DType dtype, const PoolRows& pool, const void* dy, void* dx, cudaStream_t stream);

// The hot case of small networks, from pairs.cu; called by those above.
void max_pool_pairs(DType dtype, const Pool& pool, const void* x, void* y, cudaStream_t stream);
void mean_pool_pairs(DType dtype, const Pool& pool, const void* x, void* y, cudaStream_t stream);
void max_pool_grad_pairs(DType dtype, const Pool& pool, const void* dy, const void* x, void* dx,
                         cudaStream_t stream);
void mean_pool_grad_pairs(DType dtype, const Pool& pool, const void* dy, void* dx, cudaStream_t stream);

}  // namespace headroom::cuda
