#pragma once

#include <cuda_runtime_api.h>

#include "base/dtype_kind.h"
#include "ops/cuda/loop.h"
#include "ops/reduce/cuda/stage.h"

namespace headroom::cuda {

// y = scale * (x joined by `max` or by addition); computed in fp32, or fp64 where x is that. Integers are
// computed in their own type, with a scale of 1.
void reduce_stage(bool max, const ReduceStage& stage, DType from, const void* x, double scale, DType to,
                  void* y, cudaStream_t stream);

// All stages in a row; `between` is memory for what lies between them.
template <class Stages>
void reduce(bool max, const Stages& stages, DType from, const void* x, double scale, DType to, void* y,
            void* between, cudaStream_t stream) {
  const bool integers = from == DType::i64 || from == DType::i32;
  const DType wide = integers || from == DType::f64 ? from : DType::f32;
  auto* next = static_cast<unsigned char*>(between);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool last = i + 1 == stages.size();
    void* out = last ? y : next;
    reduce_stage(max, stages[i], from, x, last ? scale : 1, last ? to : wide, out, stream);
    next += stages[i].results() * (wide == DType::f64 || wide == DType::i64 ? 8 : 4);
    x = out, from = wide;
  }
}

// The loop's operands are the dense x and y, stretched. mark: 1 where x equals y, else 0. share: marked times
// dy / ties, in place; ties are fp32, or fp64 where dtype is.
void mark_equal(DType dtype, const Loop& loop, const void* x, const void* y, void* marked,
                cudaStream_t stream);
void share_marked(DType dtype, const Loop& loop, const void* dy, const void* ties, void* marked,
                  cudaStream_t stream);

}  // namespace headroom::cuda
