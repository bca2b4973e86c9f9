#pragma once

// All steps of a recurrent layer in one launch. Blocks meet after every step; the products that need no state
// are matrix products before or after it. fp32.

#include <cuda_runtime_api.h>

#include "ops/recurrent/cuda/persistent_plan.h"
#include "ops/recurrent/shape.h"

namespace headroom::cuda {

struct PersistentForward {
  RecurrentProblem s;
  PersistentPlan plan;
  RecurrentTensors<float, float> t;
  const float* products;  // of the inputs: [dirs, seq, batch, rows]
  float* h;               // before and after a step: [2, dirs, batch, hidden]
  float* c;               // [dirs, batch, hidden]
  unsigned* counters;     // of the blocks that have met: [dirs, lanes]
};

struct PersistentBackward {
  RecurrentProblem s;
  PersistentPlan plan;
  RecurrentGradTensors<float, float> t;
  float* sums;         // gradients of the states' products: [dirs, seq, batch, rows]
  float* candidates;   // a gru's last gate as the inputs' products have it: [dirs, seq, batch, hidden]
  float* before;       // states before each step: [dirs, seq, batch, hidden]
  float *dh, *dc;      // [dirs, batch, hidden]
  unsigned* counters;  // [dirs, lanes]
};

void run_persistent(const PersistentForward& forward, cudaStream_t stream);
// Without the matrix products: it fills sums, candidates and before, and writes dB, dh0 and dc0.
void run_persistent(const PersistentBackward& backward, cudaStream_t stream);

}  // namespace headroom::cuda
