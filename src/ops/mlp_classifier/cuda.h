#pragma once

#include <cuda_runtime_api.h>

#include "ops/mlp_classifier/plan.h"

namespace headroom::cuda {

struct MlpClassifierShape {
  std::int64_t rows, inputs;
  int hidden, classes;
  int activation;    // as in Activation
  bool wide_labels;  // int64 instead of int32
  float l2[4];       // of w1, b1, w2, b2, where parameters are updated
  bool penalty;      // the loss has their squares added
  double count;      // images of the tally's step
};

struct MlpClassifierPointers {
  const float *x, *w1, *b1, *w2, *b2;
  const void* labels;
  const double* rate;  // null: the results are gradients; else new parameters, in place of the old ones
  float *loss, *correct, *new_w1, *new_b1, *new_w2, *new_b2;
  double* tally;  // null: nobody adds up steps
};

struct MlpClassifierSurroundings {
  int multiprocessors;
  bool batch_from_outside;  // no launch of the plan writes x or the labels
};

void mlp_classifier(const MlpClassifierShape& shape, const MlpClassifierPlan& plan,
                    const MlpClassifierPointers& pointers, const MlpClassifierSurroundings& around,
                    void* workspace, cudaStream_t stream);

}  // namespace headroom::cuda
