#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/tensor_table.h"
#include "ops/updates/arithmetic.h"

namespace headroom::cuda {

enum class Update { sgd, momentum, nesterov, adagrad, adadelta, rmsprop, rmsprop_momentum, adam };

// Elements per block.
inline constexpr std::int64_t kUpdateChunk = 2048;

// One step of all tensors of the table, in place. Pointers of a tensor: gradient, parameter, states; its
// number: l2, which shrinks the parameter itself if `decoupled`. rate and step are device memory; step may be
// null where the rule does not count.
void update(DType dtype, Update rule, const updates::Settings& settings, bool decoupled, const double* rate,
            const double* step, const TensorTable& table, cudaStream_t stream);

}  // namespace headroom::cuda
