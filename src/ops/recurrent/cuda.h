#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/recurrent/shape.h"

namespace headroom::cuda {

// Tensors of any type; those that are absent are null.
using AnyRecurrentTensors = RecurrentTensors<void, void>;
using AnyRecurrentGradTensors = RecurrentGradTensors<void, void>;

void recurrent(DType dtype, const RecurrentProblem& problem, const AnyRecurrentTensors& tensors,
               void* scratch, cudaStream_t stream);
void recurrent_grad(DType dtype, const RecurrentProblem& problem, const AnyRecurrentGradTensors& tensors,
                    void* scratch, cudaStream_t stream);

}  // namespace headroom::cuda
