#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "headroom/net.h"

namespace headroom {

// The kinds of option values. A pair may be written as one number.
enum class OptionKind { integer, real, flag, text, pair, padding, integers };

struct OptionSpec {
  std::string_view name;
  OptionKind kind;
  bool required = false;
};

// The name under which an option is stored: net.json says "stride", operators say "strides". Padding by name
// is stored as "auto_pad".
std::string_view stored_name(const OptionSpec& option);

// The purpose of a lowering.
struct Lowering {
  DType dtype = DType::f32;
  bool training = false;          // dropout drops, batch_norm uses the batch's statistics
  std::uint64_t seed = 0;         // of dropout
  std::int64_t first_item = 0;    // of a batch shared by ranks: index of this rank's first item
  std::int64_t items = 1;         // on this rank
  std::int64_t global_batch = 0;  // on all ranks
  bool fed_by_loader = false;     // tokens come as int32, whatever integers a file declares
};

struct LayerContext {
  Graph& graph;
  const Layer& layer;
  std::int64_t number;  // index of the layer in its network
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

// A layer type of net.json: its options, and the nodes it becomes.
struct LayerType {
  std::string_view name;
  std::vector<OptionSpec> options;
  std::size_t inputs;  // number of earlier layers it reads, or kTwoOrMore
  ValueId (*lower)(const LayerContext& context);
};

const std::vector<LayerType>& layer_types();
const LayerType& layer_type(std::string_view name);  // rejects unknown types, suggests the nearest

// True if the input is tokens (an embedding reads it), one int32 each, not numbers.
bool reads_tokens(const Net& net);

// True if an answer is one of several classes, so that there is an accuracy.
inline bool has_classes(const Net& net) { return net.loss == kCrossEntropy || net.loss == kSquaredError; }
// True if the data gives numbers to be learned instead of labels.
inline bool learns_targets(const Net& net) { return net.loss == kRegression || net.loss == kMultiLabel; }

// Appends a network's forward pass to a graph; returns the last layer's output.
ValueId lower(const Net& net, Graph& graph, ValueId input, const Lowering& how);

// The scalar that counts a graph's training steps; made on first use.
inline constexpr const char* kStep = "step";
ValueId step_scalar(Graph& graph);

}  // namespace headroom
