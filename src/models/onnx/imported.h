#pragma once

// A network from a file: read once, lowered again for each batch and mode.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/layers.h"

namespace headroom {

namespace onnx {
class File;
class NodeProto;
struct Verdicts;
}  // namespace onnx

// An input or output of a network, with its name in the file.
struct Port {
  std::string name;
  ValueId value = kNone;
  // If its size depends on the data: the axis that is cut after a run, and the value that tells its true
  // size.
  int counted_axis = kNone;
  ValueId count = kNone;
};

// A node that could not be lowered; a `gap` replaces it in the graph if its shapes are known.
struct UnknownNode {
  std::string op, node, reason;
};

struct Lowered {
  std::vector<Port> inputs, outputs;   // in file order; without outputs after a gap of unknown shape
  ValueId images = kNone;              // the first float input, else the first input
  ValueId logits = kNone;              // the first output; if that is a softmax, its input
  std::vector<UnknownNode> unknown;    // in order
  std::vector<std::string> unreached;  // nodes after them whose shapes are unknown
  std::vector<ValueId> ends;           // must be kept: outputs, and inputs of unreached nodes
};

class ImportedGraph {
 public:
  // `sizes` binds open dimensions by name.
  ImportedGraph(std::shared_ptr<const onnx::File> file, std::map<std::string, std::int64_t> sizes);

  Lowered lower(Graph& graph, std::int64_t batch, const Lowering& how) const;

  // 0 if the caller chooses the batch.
  std::int64_t fixed_batch() const { return fixed_batch_; }
  std::vector<std::int64_t> item() const;  // shape of one image, or of one item of the first input
  std::string name() const;                // of the file, without its folder
  // The only input is rows of integers: numbers of words, bytes, ….
  bool reads_tokens() const;
  // Every float tensor of the file: whether training changes it, and if not, why.
  const onnx::Verdicts& tensors() const { return *verdicts_; }

 private:
  struct Input {
    std::string name;
    int data_type = 0;
    std::vector<std::int64_t> dims;    // 0 where open
    std::vector<std::string> symbols;  // names of the open ones
  };
  void read_inputs();
  void bind(std::map<std::string, std::int64_t> sizes);
  std::map<std::string, std::int64_t> bound(std::int64_t batch) const;
  std::vector<std::string> open_names() const;
  std::size_t first_floats() const;

  std::shared_ptr<const onnx::File> file_;
  std::vector<const onnx::NodeProto*> order_;  // live nodes, each after those it reads
  std::shared_ptr<const onnx::Verdicts> verdicts_;
  std::vector<Input> inputs_;
  std::map<std::string, std::int64_t> sizes_;
  std::string batch_symbol_;
  bool open_axes_are_batch_ = false;
  std::int64_t fixed_batch_ = 0;
};

// The network of an ONNX file. Open dimensions may follow the name: "bert.onnx:sequence=128".
Net read_onnx(const std::string& spec);
bool is_onnx_name(std::string_view spec);

// The fixed batch of a network, or 0.
std::int64_t fixed_batch(const Net& net);

}  // namespace headroom
