#pragma once

// A network that came as a file: read once, lowered anew for each batch and mode.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/layers.h"

namespace headroom {

namespace onnx {
class File;
class NodeProto;
}  // namespace onnx

// An input or output of a network, by the name the file gives it.
struct Port {
  std::string name;
  ValueId value = kNone;
};

// A node that could not be lowered; the graph has a `gap` in its place where its shapes are known.
struct UnknownNode {
  std::string op, node, reason;
};

struct Lowered {
  std::vector<Port> inputs, outputs;  // in the file's order; outputs behind a gap of unknown shape are absent
  ValueId images = kNone;             // the first input of floats, else the first
  ValueId logits = kNone;             // the first output; before its softmax, where it is one
  std::vector<UnknownNode> unknown;   // in order
  std::vector<std::string> unreached;  // nodes behind them whose shapes nobody knows
  std::vector<ValueId> ends;           // what must be kept: outputs, and what unreached nodes would read
};

class ImportedGraph {
 public:
  // `sizes` binds open dimensions by name.
  ImportedGraph(std::shared_ptr<const onnx::File> file, std::map<std::string, std::int64_t> sizes);

  Lowered lower(Graph& graph, std::int64_t batch, const Lowering& how) const;

  // 0 where the caller chooses the batch.
  std::int64_t fixed_batch() const { return fixed_batch_; }
  std::vector<std::int64_t> item() const;  // shape of one image, or of one item of the first input
  std::string name() const;                // of the file, without its folder

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
  std::vector<Input> inputs_;
  std::map<std::string, std::int64_t> sizes_;
  std::string batch_symbol_;
  bool open_axes_are_batch_ = false;
  std::int64_t fixed_batch_ = 0;
};

// The network of an ONNX file. Open dimensions may follow the name: "bert.onnx:sequence=128".
Net read_onnx(const std::string& spec);
bool is_onnx_name(std::string_view spec);

// The batch a network insists on, or 0.
std::int64_t fixed_batch(const Net& net);

}  // namespace headroom
