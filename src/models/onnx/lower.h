#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/onnx/convert.h"
#include "models/onnx/imported.h"
#include "models/onnx/learned.h"
#include "models/onnx/terms.h"

namespace headroom::onnx {

class GraphProto;
class ValueInfoProto;

// Max elements of a node, in and out, for folding while the file is read. The plan does larger ones.
inline constexpr std::int64_t kMaxFolded = 1 << 16;
// Max nodes of all Loops and Scans of a file, each counted once for every time it is repeated.
inline constexpr std::size_t kMaxRepeatedNodes = 1 << 16;

// Walks a file's nodes and appends ours to a graph. Tracks the meaning of every name so far.
class Lowerer {
 public:
  // `sizes` has a number for every open dimension of the inputs.
  Lowerer(const File& file, const Verdicts& verdicts, Graph& graph, const Lowering& how,
          std::map<std::string, std::int64_t> sizes);

  void declare(const GraphProto& graph);  // types the file gives for inner values
  void add_tensors(const GraphProto& graph);
  void define(const std::string& name, Operand operand) { names_[name] = std::move(operand); }
  void lower(const std::vector<const NodeProto*>& order);
  void give_parameters_to_layers();  // after all nodes
  // As a value of the graph; kNone if it could not be reached.
  ValueId value_of(const std::string& name);
  bool is_read(const std::string& name) const { return read_.contains(name); }
  std::optional<Counted> counted(const std::string& name) const;
  bool reached(const std::string& name) const { return names_.contains(name); }

  // For conversions.
  const File& file() const { return file_; }
  Graph& graph() { return graph_; }
  const Lowering& how() const { return how_; }
  std::optional<TensorType> declared(const std::string& name) const;
  ValueId store(Operand& operand, const std::string& name, const std::string& layer, Role of_floats);
  ValueId store_weights(Operand& operand, const std::string& name, const std::string& layer);
  ValueId store_constant(const ConstantData& elements, const std::string& name, const std::string& layer,
                         Role role = Role::constant);

  std::vector<UnknownNode> unknown;
  std::vector<std::string> unreached;
  std::vector<ValueId> ends;  // inputs of unreached nodes

 private:
  std::string layer_name(const NodeProto& node);
  std::string stored_name(const std::string& wanted);
  void lower(const NodeProto& node);
  bool all_known(const Context& context, const NodeProto& node) const;
  void define_stored(const std::string& name, Operand operand);
  Results convert(Context& context, const NodeProto& node);
  Results converted(const Conversion& conversion, Context& context, const NodeProto& node);
  Results converted_in(DType wide, DType small, const Conversion& conversion, const Context& context,
                       const NodeProto& node);
  std::optional<Results> folded(Context& context, const NodeProto& node);
  std::optional<Results> run_now(const NodeProto& node, const Context& context);
  // control.cc: If, Loop and Scan.
  struct Body;
  Body open_body(const Context& context, const NodeProto& node, std::string_view attribute);
  Results lower_body(const Body& body, const std::vector<Operand>& inputs);
  void count_repeated(const Context& context, const Body& body, std::string_view without_end);
  Term term_of(const Context& context, Operand operand);
  Term select(Context& context, const Term& condition, const Operand& yes, const Operand& no);
  Results follow(Context& context, const NodeProto& node);
  Results follow_if(Context& context, const NodeProto& node);
  Results unroll_loop(Context& context, const NodeProto& node);
  Results unroll_scan(Context& context, const NodeProto& node);
  void leave_gap(Context& context, const NodeProto& node, const std::string& reason);
  void leave_unreached(const NodeProto& node, const std::string& layer);

  const File& file_;
  const Verdicts& verdicts_;
  Graph& graph_;
  Lowering how_;
  std::map<std::string, std::int64_t> sizes_;
  std::unordered_map<std::string, Operand> names_;
  std::unordered_map<std::string, const ValueInfoProto*> declared_;
  std::unordered_map<std::string, int> layers_, stored_;  // names, and the last number given to each
  std::unordered_map<std::string, ValueId> constants_;    // by name and elements
  std::set<std::string> read_;
  std::size_t count_ = 0, repeated_ = 0;
  bool scratch_ = false;  // lowers one node to run it now
};

}  // namespace headroom::onnx
