#pragma once

// The view of one node that its writer gets, and the table of writers. Each write_*.cc file holds a family.

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace headroom::onnx {

class FileWriter;  // write.cc

using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

class NodeWriter {
 public:
  NodeWriter(FileWriter& file, NodeId id);

  const Node& node() const { return node_; }
  const Attrs& attrs() const { return node_.attrs; }
  const Problem& problem() const { return problem_; }
  std::int64_t opset() const;  // of the file
  std::size_t inputs() const { return node_.inputs.size(); }
  std::string input(std::size_t i) const;  // its name in the file
  Names all_inputs() const;
  const TensorType& type(std::size_t i) const { return problem_.inputs[i]; }

  // An extent that follows the batch is -1; if there are several, those equal to the input's are 0.
  Ints reshaped() const;                  // to the shape of the first output
  Ints reshaped(const Ints& dims) const;  // to these; the first follows the batch if the input's does
  bool follows_batch(std::size_t input, int axis) const;
  bool output_follows_batch(int axis) const;
  // Integer attributes that are the same for every batch; others are refused.
  Ints fixed(std::string_view attribute, Ints fallback = {}) const;
  // The same node for the other batch; this node if there is none.
  const Node& other() const;
  const Shape& other_input(std::size_t i) const;

  // Nodes of the file. result makes the node's first output, results all of them, part makes an intermediate
  // one.
  void result(std::string_view op, const Names& in, const Attrs& attributes = {});
  void results(std::string_view op, const Names& in, const Attrs& attributes, std::size_t count);
  // The first output, and those others that something reads.
  void read_results(std::string_view op, const Names& in, const Attrs& attributes);
  void set_texts(const std::string& attribute, const Names& texts);  // of the node written last
  std::string part(std::string_view op, const Names& in, const Attrs& attributes = {});
  std::string integers(const Ints& elements);  // a constant vector
  // The batch as a vector of one element, made by nodes that read it from an input.
  std::string batch();
  bool is_batch(int axis) const;              // true if this extent of the result is the batch, of any size
  std::string integer(std::int64_t element);  // a constant without axes
  std::string real(double element, std::size_t like);  // a constant of that input's element type
  std::string reals(const Shape& shape, const std::vector<double>& elements);  // fp32

  [[noreturn]] void refuse(std::string_view why) const;
  [[noreturn]] void refuse_batch(std::string_view what) const;

 private:
  FileWriter& file_;
  NodeId id_;
  const Node& node_;
  Problem problem_;
};

struct Writing {
  std::string_view op;
  void (*write)(NodeWriter& node);
};

std::vector<Writing> layer_writings();  // convolution, products, windows, normalisation, attention
std::vector<Writing> recurrent_writings();
std::vector<Writing> element_writings();  // functions of elements, comparisons, reductions
std::vector<Writing> arrange_writings();  // shapes, not values
std::vector<Writing> quantized_writings();

// The element type's number in the format.
int onnx_type(DType dtype);

}  // namespace headroom::onnx
