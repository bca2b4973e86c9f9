#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "headroom/net.h"

namespace headroom {

// One kind of value an option takes. A pair may be written as one number.
enum class OptionKind { integer, real, flag, text, pair, padding, integers };

struct OptionSpec {
  std::string_view name;
  OptionKind kind;
  bool required = false;
};

// The name an option is kept under: net.json says "stride", operators say "strides". Padding in words is kept
// as "auto_pad".
std::string_view stored_name(const OptionSpec& option);

// What a network is lowered for.
struct Lowering {
  DType dtype = DType::f32;
  bool training = false;          // dropout drops, batch_norm takes the batch's statistics
  std::uint64_t seed = 0;         // of dropout
  std::int64_t first_item = 0;    // of a batch that is spread over ranks: the place of the first one here
  std::int64_t items = 1;         // here
  std::int64_t global_batch = 0;  // what all ranks have of it
};

struct LayerContext {
  Graph& graph;
  const Layer& layer;
  std::int64_t number;  // of the layer in its network
  std::vector<ValueId> inputs;
  DType dtype;
  bool training;
  std::int64_t seed;
  std::int64_t first_item, items;

  ValueId emit(std::string_view op, std::vector<ValueId> operands, Attrs attrs = {}) const;
  ValueId parameter(std::string_view name, Shape shape, Initializer init, bool penalized) const;
  ValueId statistic(std::string_view name, Shape shape, Initializer init) const;  // learned, not by gradients
  ValueId step() const;  // the scalar that counts training steps
};

inline constexpr std::size_t kTwoOrMore = 0;

// What net.json calls a layer: its options, and the nodes it becomes.
struct LayerType {
  std::string_view name;
  std::vector<OptionSpec> options;
  std::size_t inputs;  // how many earlier layers it reads, or kTwoOrMore
  ValueId (*lower)(const LayerContext& context);
};

const std::vector<LayerType>& layer_types();
const LayerType& layer_type(std::string_view name);  // rejects unknown types with the nearest

// Is the input tokens (an embedding reads it), one int32 each, rather than numbers?
bool reads_tokens(const Net& net);

// Appends a network's forward pass to a graph; returns the last layer's output.
ValueId lower(const Net& net, Graph& graph, ValueId input, const Lowering& how);

// The scalar a graph counts its training steps by: found, or made at the first asking.
inline constexpr const char* kStep = "step";
ValueId step_scalar(Graph& graph);

}  // namespace headroom
