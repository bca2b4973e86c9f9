#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "plan/plan.h"

namespace headroom {

// The type and minimum cost of a layer, for a whole batch, on any machine.
struct LayerCost {
  std::string layer, operators;  // "conv2d+relu"
  std::string output;            // shape of one item
  std::int64_t parameters = 0;
  double macs = 0;         // multiply-adds of products: convolutions, fully connected layers, matrices
  double other = 0;        // comparisons, additions, normalisation, exp and so on, one each
  double bytes = 0;        // minimum traffic: inputs, weights and outputs once
  double activations = 0;  // bytes of its outputs
  double flops() const { return 2 * macs; }
  double intensity() const { return bytes > 0 ? (flops() + other) / bytes : 0; }
};

// The total of all products of one kind.
struct KindCost {
  std::string kind;  // conv2d, linear, matmul
  int count = 0;
  double macs = 0;
  double flops() const { return 2 * macs; }
};

struct ModelCost {
  std::vector<LayerCost> layers;
  std::vector<KindCost> kinds;  // most expensive first
  LayerCost total;
  std::int64_t batch = 1;
  // Planned peak of a run: weights (and optimizer state) plus the arena, including inputs.
  double inference_bytes = 0, training_bytes = 0;
  std::string training_gap;  // why the network cannot be trained; empty if it can
};

// Layers come from the plan of the forward pass; `training` may be null.
ModelCost model_cost(const Plan& forward, const Plan* training);

// The table of the layers; CSV leaves the total out.
Sheet model_sheet(const ModelCost& cost, bool with_total = true);
std::string kinds_line(const ModelCost& cost);  // "conv2d 16, 39,016,857,600 FLOPs, 99.37 %; linear …"
Json model_json(const ModelCost& cost);

}  // namespace headroom
