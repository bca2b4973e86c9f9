#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "headroom/attrs.h"

namespace headroom {

class Graph;
struct Node;
using ValueId = int;
using NodeId = int;
inline constexpr int kNone = -1;

// One operator applied to concrete types: all that costs, kernels and tests need to know of a node.
struct Problem {
  std::string op;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  Attrs attrs;
  std::string str() const;  // "conv2d 8x1x32x32,6x1x5x5 fp32 groups=1": names a test case and a tuning key
};

// What the operator must do at the least, whatever the algorithm. A multiply-add counts two FLOPs.
struct Cost {
  double multiply_add = 0;                   // FLOPs of products and sums: what matrix units may do
  double other = 0;                          // comparisons, additions, divisions, one each
  double special = 0;                        // exp, log, tanh: one each
  double bytes_read = 0, bytes_written = 0;  // each input once, each output once
  double flops() const { return multiply_add + other + special; }
  double bytes() const { return bytes_read + bytes_written; }
  Cost& operator+=(const Cost& more);
};

// Handed to an operator's gradient: it emits nodes and names the gradient of each input (kNone: no gradient).
struct GradientContext {
  Graph& graph;
  NodeId node;
  std::vector<ValueId> output_gradients;  // kNone where an output does not reach the loss
  std::vector<bool> needed;               // per input: is its gradient wanted?

  ValueId input(std::size_t i) const;
  ValueId output(std::size_t i) const;
  const Attrs& attrs() const;
  // Emits a node that belongs to the forward node's layer, in the backward phase; returns its first output,
  // or all of them.
  ValueId emit(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) const;
  std::vector<ValueId> emit_all(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) const;
};

// Device-free meaning of one operator. An operator may have a schema and no kernels.
struct OpSchema {
  std::string name;
  std::vector<TensorType> (*infer)(const std::vector<TensorType>& inputs, const Attrs& attrs) = nullptr;
  Cost (*cost)(const Problem& problem) = nullptr;
  std::vector<ValueId> (*gradient)(const GradientContext& context) = nullptr;  // null: not differentiable
  // Output i shares storage with input aliases[i] (an update in place); -1 or absent: storage of its own.
  std::vector<int> (*aliases)(const Problem& problem) = nullptr;
  bool is_view = false;  // output 0 is input 0 under another shape: no step is planned
  // Views of a part: the place of its first element. Null: the whole.
  std::int64_t (*view_offset)(const Problem& problem) = nullptr;
  bool collective = false;  // all ranks of a group take part in it, or none
  // Inputs that stay fp32 where activations are 16 bits wide: scales and statistics of normalisations.
  std::vector<int> keeps_fp32 = {};
};

// Answered by the list in ops/registry.cc; rejects unknown names with the nearest one.
const OpSchema& schema_of(std::string_view op);

// Bytes of all inputs and outputs: the memory part of most costs.
Cost traffic(const Problem& problem);

}  // namespace headroom
