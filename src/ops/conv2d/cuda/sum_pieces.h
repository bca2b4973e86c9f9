#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype_kind.h"

namespace headroom::cuda {

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

}  // namespace headroom::cuda
