#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "headroom/net.h"

namespace headroom {

// One kind of value an option takes. A pair may be written as one number.
enum class OptionKind { integer, real, flag, text, pair, padding };

struct OptionSpec {
  std::string_view name;
  OptionKind kind;
  bool required = false;
};

// The name an option is kept under: net.json says "stride", operators say "strides". Padding in words is kept
// as "auto_pad".
std::string_view stored_name(const OptionSpec& option);

struct LayerContext {
  Graph& graph;
  const Layer& layer;
  std::vector<ValueId> inputs;
  DType dtype;

  ValueId emit(std::string_view op, std::vector<ValueId> operands, Attrs attrs = {}) const;
  ValueId parameter(std::string_view name, Shape shape, Initializer init, bool penalized) const;
};

// What net.json calls a layer: its options, and the nodes it becomes.
struct LayerType {
  std::string_view name;
  std::vector<OptionSpec> options;
  std::size_t inputs;
  ValueId (*lower)(const LayerContext& context);
};

const LayerType& layer_type(std::string_view name);  // rejects unknown types with the nearest

// Appends a network's forward pass to a graph; returns the last layer's output.
ValueId lower(const Net& net, Graph& graph, ValueId input, DType dtype);

}  // namespace headroom
