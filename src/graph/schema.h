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

// One operator applied to concrete types: everything that costs, kernels and tests need from a node.
struct Problem {
  std::string op;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  Attrs attrs;
  std::string str() const;  // "conv2d 8x1x32x32,6x1x5x5 fp32 groups=1": names a test case and a tuning key
};

// The minimum work of the operator, for any algorithm. A multiply-add counts as two FLOPs.
struct Cost {
  double multiply_add = 0;                   // FLOPs of products and sums: matrix units can do these
  double other = 0;                          // comparisons, additions, divisions, one each
  double special = 0;                        // exp, log, tanh: one each
  double bytes_read = 0, bytes_written = 0;  // each input once, each output once
  double flops() const { return multiply_add + other + special; }
  double bytes() const { return bytes_read + bytes_written; }
  Cost& operator+=(const Cost& more);
};

// Passed to an operator's gradient, which emits nodes and returns the gradient of each input (kNone: none).
struct GradientContext {
  Graph& graph;
  NodeId node;
  std::vector<ValueId> output_gradients;  // kNone if an output does not reach the loss
  std::vector<bool> needed;               // per input: whether its gradient is needed

  ValueId input(std::size_t i) const;
  ValueId output(std::size_t i) const;
  const Attrs& attrs() const;
  // Emits a backward node that belongs to the forward node's layer; returns its first output, or all of them.
  ValueId emit(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) const;
  std::vector<ValueId> emit_all(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) const;
};

// An attribute that layers of net.json and ONNX files set under its own name: a number, or one of several
// words.
struct AttributeSpec {
  std::string name;
  double fallback = 0;                  // the number where the attribute is absent
  std::vector<std::string> words = {};  // not empty: the attribute is a text, and the first word the default
};

// Device-free meaning of one operator. An operator may have a schema and no kernels.
struct OpSchema {
  std::string name;
  std::vector<TensorType> (*infer)(const std::vector<TensorType>& inputs, const Attrs& attrs) = nullptr;
  Cost (*cost)(const Problem& problem) = nullptr;
  std::vector<ValueId> (*gradient)(const GradientContext& context) = nullptr;  // null: not differentiable
  // Output i shares storage with input aliases[i] (an in-place update); -1 or absent: its own storage.
  std::vector<int> (*aliases)(const Problem& problem) = nullptr;
  bool is_view = false;  // output 0 is input 0 with another shape: no step is planned
  // For views of a part: the index of its first element. Null: the whole.
  std::int64_t (*view_offset)(const Problem& problem) = nullptr;
  bool collective = false;  // all ranks of a group take part, or none
  // Inputs that stay fp32 when activations are 16-bit: scales and statistics of normalisations.
  std::vector<int> keeps_fp32 = {};

  // Traits. Passes, layer types, file formats and reports ask for these instead of keeping lists of names.
  // Operands of a function of elements: 1 for relu, 2 for add. 0: an output element depends on other places.
  int elementwise = 0;
  std::vector<AttributeSpec> attributes = {};
  bool layer = false;               // net.json has a layer type of this name, with the attributes as options
  bool activation = false;          // layers of net.json take it, with its defaults, as their "activation"
  bool fusible_activation = false;  // products apply it as they store: see ops/activation/
  std::string gradient_of = {};     // "relu" for relu_grad: dy times the slope of that function
  std::string onnx = {};            // ONNX operator with the same inputs and attributes; empty: none
  std::int64_t onnx_opset = 0;      // the operator set of ONNX that brought it; 0: any that we write
  // Are its multiply-adds products? Published counts of FLOPs are of products alone. What else multiplies
  // (normalisations and their gradients) counts with the other operations.
  bool has_products = true;
  // Inputs with the shapes, per image, of outputs that the operator computes for other layers and does not
  // keep, in the order in which these layers are charged for the forward pass.
  std::vector<int> inner_outputs = {};
};

// Looks in the list in ops/registry.cc; rejects unknown names and suggests the nearest one.
const OpSchema& schema_of(std::string_view op);

// Bytes of all inputs and outputs: the memory part of most costs.
Cost traffic(const Problem& problem);

}  // namespace headroom
