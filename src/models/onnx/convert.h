#pragma once

// How one node of an ONNX file becomes nodes of ours: the view of a node that a conversion gets, and the
// table of conversions. Each ops_*.cc file holds a family; convert.cc joins them. Shapes are concrete when a
// conversion runs.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace headroom::onnx {

class AttributeProto;
class NodeProto;
class Lowerer;  // lower.h: holds the meaning of the file's names

using Ints = std::vector<std::int64_t>;

// A tensor stored in the file. All names of it share this, so that it becomes one value of the graph.
struct Origin {
  std::string name;
  bool learned = false;  // training changes it: it must not be folded into other numbers
  ValueId value = kNone;
};

// An axis whose size depends on the data: it is as long as it can get, and an int64 without axes tells how
// much of it holds results. See counted.h.
struct Counted {
  int axis = 0;
  ValueId count = kNone;
};

// The meaning of a name in the file: a value of the graph, elements known without a run (a weight, a shape),
// or nothing (an omitted optional input).
struct Operand {
  Operand() = default;
  Operand(ValueId id) : value(id) {}                              // NOLINT(google-explicit-constructor)
  Operand(ConstantData elements) : known(std::move(elements)) {}  // NOLINT(google-explicit-constructor)
  ValueId value = kNone;
  std::optional<ConstantData> known;
  std::shared_ptr<Origin> origin;  // known, and stored in the file; null: computed
  std::optional<Counted> counted;
  bool is_learned() const { return origin && origin->learned; }
  bool is_absent() const { return value == kNone && !known; }
};

// Thrown by unsupported(): the node becomes a reported gap, and the rest of the file is still read.
struct Unsupported {
  std::string reason;
};

// A node during conversion.
class Context {
 public:
  // The node itself.
  const std::string& layer() const { return layer_; }  // its name, or one made for it
  const std::string& op() const;                       // op_type
  bool is_own() const;                                 // of ONNX's own operators
  std::int64_t opset() const { return opset_; }        // version of the operator set the node is from
  DType dtype() const;        // type for float computation, whatever float type the file stores
  bool training() const;      // dropout drops, batch normalisation uses the batch's statistics
  std::int64_t seed() const;  // of dropout
  // For a tensor of items, whose batch ranks may share: the index of its first element.
  std::int64_t first_element(ValueId value) const;

  // Attributes: with a fallback, or required. Rejects a type other than the operator's.
  bool has(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t fallback) const;
  double real(std::string_view attribute) const;
  double real(std::string_view attribute, double fallback) const;
  std::string text(std::string_view attribute) const;
  std::string text(std::string_view attribute, std::string_view fallback) const;
  Ints integers(std::string_view attribute) const;
  Ints integers(std::string_view attribute, Ints fallback) const;
  std::vector<double> reals(std::string_view attribute) const;
  std::vector<double> reals(std::string_view attribute, std::vector<double> fallback) const;
  std::vector<std::string> texts(std::string_view attribute) const;  // empty if absent
  ConstantData tensor(std::string_view attribute) const;

  // Inputs, counted from 0. A known float has the type dtype(), as it would have in the graph.
  std::size_t inputs() const { return operands_.size(); }
  bool has_input(std::size_t i) const { return i < operands_.size() && !operands_[i]->is_absent(); }
  bool is_known(std::size_t i) const { return has_input(i) && operands_[i]->known.has_value(); }
  TensorType type(std::size_t i) const;
  // Its type in TensorProto.DataType, if the file gives it: ours may be wider.
  std::optional<int> file_type(std::size_t i) const;
  Shape shape(std::size_t i) const { return type(i).shape; }
  const Operand& operand(std::size_t i) const;
  const std::string& input_name(std::size_t i) const;
  bool is_learned(std::size_t i) const { return operand(i).is_learned(); }

  // Elements of an input that must be known: axes, a shape. Unsupported if they depend on the data.
  const ConstantData& known(std::size_t i) const;
  Ints known_integers(std::size_t i) const;
  std::vector<double> known_reals(std::size_t i) const;
  double known_real(std::size_t i) const;  // the only element
  // An attribute that became an input in a later version: axes of Squeeze, bounds of Clip.
  std::optional<Ints> integers_of(std::string_view attribute, std::size_t input) const;
  Ints required_integers(std::string_view attribute, std::size_t input) const;

  // An input as a value of the graph. A stored tensor that is learned (learned.h) becomes a parameter, which
  // is penalised if its rank is 2 or more. Other known inputs become constants.
  ValueId value(std::size_t i);
  // Known elements of any type as a parameter that training does not change: quantised weights.
  ValueId weights(std::size_t i);
  // A known float that training changes, but not by gradients: a running mean.
  ValueId statistic(std::size_t i);

  // Outputs. A conversion returns one operand per output, in the operator's order. It may omit trailing
  // outputs that have no name.
  std::size_t outputs() const;
  bool wants_output(std::size_t i) const;
  std::optional<TensorType> declared_output(std::size_t i) const;  // from the file, with symbols bound

  // Nodes and values of our graph. Errors of emit name the layer.
  ValueId emit(std::string_view op, std::vector<ValueId> operands, Attrs attrs = {});
  std::vector<ValueId> emit_all(std::string_view op, std::vector<ValueId> operands, Attrs attrs = {});
  ValueId constant(const ConstantData& elements);
  ValueId constant(double element, Shape shape = {});  // dtype(), all elements the same
  ValueId step();                                      // the scalar that counts training steps
  const TensorType& type_of(ValueId id) const;
  Shape shape_of(ValueId id) const { return type_of(id).shape; }
  // The parameter that this value is the matrix transpose of; kNone if it is not one. Products read it in
  // place.
  ValueId untransposed_parameter(ValueId id) const;

  // Refusals. unsupported: the file is valid, we lack the feature. invalid: the file is wrong, reading stops.
  [[noreturn]] void unsupported(std::string reason) const;
  [[noreturn]] void invalid(std::string_view reason) const;
  void require_inputs(std::size_t least, std::size_t most) const;  // counted to the last given input

 private:
  friend class Lowerer;
  Context(Lowerer& lowerer, const NodeProto& node, std::string layer, std::int64_t opset,
          std::vector<Operand*> operands);
  const AttributeProto* find(std::string_view attribute, int type) const;
  const AttributeProto& require(std::string_view attribute, int type) const;

  Lowerer& lowerer_;
  const NodeProto& node_;
  std::string layer_;
  std::int64_t opset_;
  std::vector<Operand*> operands_;
  int constants_ = 0;
};

using Results = std::vector<Operand>;

struct Conversion {
  std::string_view op;  // "Conv"; for domains other than ONNX's own: "com.microsoft:FusedConv"
  Results (*convert)(Context& context);
};

// Null if there is none.
const Conversion* find_conversion(std::string_view domain, std::string_view op);

// fold.cc: for nodes whose inputs are all known; computes elements instead of adding nodes. Tried first.
const Conversion* find_fold(std::string_view domain, std::string_view op);

// One function per family; convert.cc lists them.
std::vector<Conversion>
core_conversions();  // Conv, Relu, MaxPool, Gemm, Reshape, Constant, Identity, Shape, …
std::vector<Conversion> pointwise_conversions();  // Add, Sigmoid, Softmax, Where, …
std::vector<Conversion> cast_conversions();       // Cast, CastLike
std::vector<Conversion> arrange_conversions();    // Transpose, Concat, Slice, Gather, …
std::vector<Conversion> pad_conversions();        // Pad, CenterCropPad
std::vector<Conversion> bit_conversions();        // BitwiseAnd, BitShift, …
std::vector<Conversion> gather_conversions();     // GatherND, GatherElements
std::vector<Conversion> scatter_conversions();    // ScatterND, ScatterElements, TensorScatter
std::vector<Conversion> select_conversions();     // Compress, ReverseSequence, TopK, NonZero
std::vector<Conversion> detection_conversions();  // NonMaxSuppression, RoiAlign, GridSample
std::vector<Conversion> resize_conversions();     // Resize, Upsample
std::vector<Conversion> attention_conversions();  // Attention, RotaryEmbedding
std::vector<Conversion> reduce_conversions();     // ReduceSum, ArgMax, MatMul, …
std::vector<Conversion> einsum_conversions();
std::vector<Conversion> normalize_conversions();  // BatchNormalization, LayerNormalization, Dropout, …
std::vector<Conversion> window_conversions();     // AveragePool, ConvTranspose, …
std::vector<Conversion> signal_conversions();     // DFT, HannWindow, …
std::vector<Conversion> loss_conversions();       // SoftmaxCrossEntropyLoss, …
std::vector<Conversion> microsoft_conversions();  // fused operators of com.microsoft
std::vector<Conversion> recurrent_conversions();  // LSTM, GRU, RNN
std::vector<Conversion> quantize_conversions();   // QuantizeLinear, DequantizeLinear, …
std::vector<Conversion> qlinear_conversions();    // MatMulInteger, QLinearConv, QLinearAdd, …

}  // namespace headroom::onnx
