#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"

namespace headroom::cuda {

// data is [outer, extent, inner], the result [outer, count, inner].
struct GatherShape {
  std::int64_t outer = 1, extent = 1, inner = 1, count = 1;
  bool wide_indices = false;  // int64, else int32
};

// `outside` is the byte that elements of an index outside are filled with.
void gather(int element_bytes, const GatherShape& shape, unsigned char outside, const void* data,
            const void* indices, void* out, cudaStream_t stream);
void gather_grad(DType dtype, const GatherShape& shape, const void* dy, const void* indices, void* dx,
                 cudaStream_t stream);

}  // namespace headroom::cuda
