#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/loop.h"

namespace headroom::cuda {

enum class Binary { add, sub, mul, div, pow, maximum, minimum, mod, fmod, pow_grad_base, pow_grad_exponent };

// out = op(a, b), or op(a, b, c) for the gradients of powers; c is null otherwise.
void binary(DType dtype, Binary op, const Loop& loop, const void* a, const void* b, const void* c, void* out,
            cudaStream_t stream);

// Of int64, or int32; `op` is an IntegerOp of integers.h.
void binary_integers(bool wide, int op, const Loop& loop, const void* a, const void* b, void* out,
                     cudaStream_t stream);

}  // namespace headroom::cuda
