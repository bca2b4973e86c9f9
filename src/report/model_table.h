#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "plan/plan.h"

namespace headroom {

// What a layer is and must cost, for a whole batch, whatever runs it.
struct LayerCost {
  std::string layer, operators;  // "conv2d+relu"
  std::string output;            // one item of the batch
  std::int64_t parameters = 0;
  double macs = 0;         // multiply-adds of products: convolutions, fully connected layers, matrices
  double other = 0;        // comparisons, additions, normalisation, exp and the like, one each
  double bytes = 0;        // least traffic: inputs, weights and outputs once
  double activations = 0;  // bytes of its outputs
  double flops() const { return 2 * macs; }
  double intensity() const { return bytes > 0 ? (flops() + other) / bytes : 0; }
};

// What all products of one kind come to.
struct KindCost {
  std::string kind;  // conv2d, linear, matmul
  int count = 0;
  double macs = 0;
  double flops() const { return 2 * macs; }
};

struct ModelCost {
  std::vector<LayerCost> layers;
  std::vector<KindCost> kinds;  // the costliest first
  LayerCost total;
  std::int64_t batch = 1;
  // Peak of a run, planned: weights (and optimizer state) plus the arena, inputs included.
  double inference_bytes = 0, training_bytes = 0;
  std::string training_gap;  // why the network cannot be trained, where it cannot
};

// Layers from the plan of the forward pass alone; `training` may be null.
ModelCost model_cost(const Plan& forward, const Plan* training);

std::string model_table(const ModelCost& cost);
std::string kinds_line(const ModelCost& cost);  // "conv2d 16, 39,016,857,600 FLOPs, 99.37 %; linear …"
std::string model_csv(const ModelCost& cost);
Json model_json(const ModelCost& cost);

}  // namespace headroom
