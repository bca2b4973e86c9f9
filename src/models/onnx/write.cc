#include "models/onnx/write.h"

#include <algorithm>
#include <cstring>

#include "base/version.h"
#include "models/onnx/file.h"
#include "models/onnx/write_file.h"
#include "models/onnx/write_pool.h"

namespace headroom::onnx {
namespace {

const std::map<std::string_view, void (*)(NodeWriter&)>& writings() {
  static const auto table = [] {
    std::map<std::string_view, void (*)(NodeWriter&)> all;
    for (auto family :
         {layer_writings, recurrent_writings, element_writings, arrange_writings, quantized_writings})
      for (const Writing& w : family()) all[w.op] = w.write;
    return all;
  }();
  return table;
}

// The oldest opset with every operator the graph needs, so that old programs can read the file.
std::int64_t opset_of(const Graph& graph) {
  std::int64_t version = 17;
  auto need = [&](std::int64_t least) { version = std::max(version, least); };
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    const bool mean = node.op == "avg_pool" || node.op == "avg_pool3d";
    if (mean || node.op == "max_pool" || node.op == "max_pool3d") need(pool_form(graph.problem(id)).opset);
    if (node.op == "resize") need(18);
    if (node.op.ends_with("quantize") && node.attrs.has("block")) need(21);
    if (const Ints steps = node.attrs.integers("dilations"); mean && steps != Ints(steps.size(), 1)) need(19);
    need(schema_of(node.op).onnx_opset);
  }
  return version;
}

constexpr const char* kBatch = "N";
constexpr std::size_t kMaxBytes = (std::size_t{1} << 31) - 1;  // of a message
const Hint kOneBatch{"`batch` 1 writes it for that batch alone"};

void set_attribute(AttributeProto& proto, const std::string& name, const Attr& value) {
  proto.set_name(name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*real));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*text);
  } else {
    proto.set_type(AttributeProto::INTS);
    for (const std::int64_t item : std::get<Ints>(value)) proto.add_ints(item);
  }
}

std::vector<std::byte> bytes_of_integer(std::int64_t value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

int onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return TensorProto::DOUBLE;
    case DType::f32:
      return TensorProto::FLOAT;
    case DType::f16:
      return TensorProto::FLOAT16;
    case DType::bf16:
      return TensorProto::BFLOAT16;
    case DType::i64:
      return TensorProto::INT64;
    case DType::i32:
      return TensorProto::INT32;
    case DType::u8:
      return TensorProto::UINT8;
    case DType::i8:
      return TensorProto::INT8;
    case DType::boolean:
      return TensorProto::BOOL;
  }
  fail("an element type without a number");
}

FileWriter::FileWriter(const std::string& name, const ForwardGraph& forward, const ForwardGraph* other,
                       const Elements& elements)
    : forward_(forward), other_(other), elements_(elements), opset_(opset_of(*forward.graph)) {
  model_.set_producer_name(kProducer);
  model_.set_producer_version(std::string(version()));
  model_.set_ir_version(opset_ <= 18 ? 8 : opset_ <= 20 ? 9 : 10);
  OperatorSetIdProto& operators = *model_.add_opset_import();
  operators.set_domain("");
  operators.set_version(opset_);
  file().set_name(name);
  for (const Node& node : graph().nodes()) read_.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& [port, id] : forward.outputs) read_.insert(id);
}

std::string FileWriter::write() {
  require_twins();
  for (const auto& [name, id] : forward_.inputs) {
    take(name);
    names_[id] = name;
    describe(*file().add_input(), name, id);
  }
  name_outputs();
  name_nodes();
  for (NodeId id = 0; id < static_cast<NodeId>(graph().nodes().size()); ++id) write_node(id);
  // A value that is an output twice, or also an input, already has a name.
  for (const auto& [name, id] : forward_.outputs) {
    if (const std::string known = name_of_value(id); known != name)
      add_node("Identity", {known}, {}, {name}).set_name(unique_node(name));
    describe(*file().add_output(), name, id);
  }
  if (stored_ > kMaxBytes)
    reject("the network's weights take {} bytes; a single ONNX file holds at most {}", stored_, kMaxBytes);
  std::string bytes;
  if (!model_.SerializeToString(&bytes)) fail("the file could not be assembled");
  return bytes;
}

std::string FileWriter::name_of_value(ValueId id) {
  if (const auto it = names_.find(id); it != names_.end()) return it->second;
  const Value& value = graph().value(id);
  if (value.producer != kNone) fail("'{}' is read before it is written", value.name);
  if (const Shape& there = other_graph().value(id).type.shape; there != value.type.shape)
    reject(kOneBatch, "'{}' is {} for one batch and {} for another: no file takes any batch", value.name,
           value.type.shape.str(), there.str());
  const NamedTensor tensor = elements_(value);
  if (tensor.type != value.type) fail("'{}' was given as {}", value.name, tensor.type.shape.str());
  const bool is_constant = value.role == Role::constant && is_float(value.type.dtype);
  return names_[id] = is_constant ? constant(value.name, tensor) : store(value.name, tensor);
}

const std::string& FileWriter::give_name(ValueId id, const std::string& wanted) {
  const auto it = names_.find(id);
  return it != names_.end() ? it->second : names_[id] = unique(wanted);
}

std::string FileWriter::unique_in(std::set<std::string>& taken, const std::string& wanted) {
  std::string name = wanted;
  for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}.{}", wanted, n);
  return name;
}

void FileWriter::set_tensor(TensorProto& proto, const NamedTensor& tensor) {
  proto.set_data_type(onnx_type(tensor.type.dtype));
  for (const std::int64_t extent : tensor.type.shape.dims()) proto.add_dims(extent);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  stored_ += tensor.bytes.size();
}

std::string FileWriter::store(const std::string& wanted, const NamedTensor& tensor) {
  TensorProto& proto = *file().add_initializer();
  proto.set_name(unique(wanted));
  set_tensor(proto, tensor);
  return proto.name();
}

std::string FileWriter::constant(const std::string& wanted, const NamedTensor& tensor) {
  const std::string name = unique(wanted);
  NodeProto& node = add_node("Constant", {}, {}, {name});
  node.set_name(unique_node(name));
  AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  set_tensor(*value.mutable_t(), tensor);
  return name;
}

NodeProto& FileWriter::add_node(std::string_view op, const Names& in, const Attrs& attributes,
                                const Names& out) {
  NodeProto& proto = *file().add_node();
  proto.set_op_type(std::string(op));
  for (const std::string& name : in) proto.add_input(name);
  for (const std::string& name : out) proto.add_output(name);
  for (const auto& [name, value] : attributes) set_attribute(*proto.add_attribute(), name, value);
  return proto;
}

void FileWriter::set_texts(const std::string& attribute, const Names& texts) {
  AttributeProto& proto = *file().mutable_node(file().node_size() - 1)->add_attribute();
  proto.set_name(attribute);
  proto.set_type(AttributeProto::STRINGS);
  for (const std::string& text : texts) proto.add_strings(text);
}

void FileWriter::require_twins() const {
  std::set<std::string> missing;
  for (const Node& node : graph().nodes())
    if (!writings().contains(node.op))
      missing.insert(node.attrs.text("op", node.op));  // a gap holds the name of the missing operator
  if (!missing.empty())
    reject("the network cannot be written as ONNX: no operator there is known for {}",
           fmt::join(missing, ", "));
  if (other_graph().nodes().size() != graph().nodes().size())
    reject(kOneBatch, "the network has other nodes for another batch: no file takes any batch");
}

void FileWriter::take(const std::string& name) {
  if (!taken_.insert(name).second) fail("two inputs or outputs of the network are called '{}'", name);
}

void FileWriter::name_outputs() {
  for (const auto& [name, id] : forward_.outputs) {
    take(name);
    if (graph().value(id).producer != kNone) names_.emplace(id, name);
  }
}

// The layer's name goes to the node with its weights, or to its first node.
void FileWriter::name_nodes() {
  const auto count = static_cast<NodeId>(graph().nodes().size());
  std::map<std::string, NodeId> main;
  auto has_weights = [&](NodeId id) {
    return std::ranges::any_of(graph().node(id).inputs,
                               [&](ValueId v) { return graph().value(v).role == Role::parameter; });
  };
  for (NodeId id = 0; id < count; ++id) {
    const auto [it, first] = main.emplace(graph().node(id).layer, id);
    if (!first && has_weights(id) && !has_weights(it->second)) it->second = id;
  }
  for (const auto& [layer, id] : main)
    node_names_[id] = unique_node(layer.empty() ? graph().node(id).op : layer);
  for (NodeId id = 0; id < count; ++id)
    if (const Node& node = graph().node(id); !node_names_.contains(id))
      node_names_[id] = unique_node(fmt::format("{}.{}", node.layer, node.op));
}

void FileWriter::write_node(NodeId id) {
  const Node& node = graph().node(id);
  if (other_graph().node(id).op != node.op)
    reject(kOneBatch, "layer '{}' is {} for one batch only: no file takes any batch", node.layer, node.op);
  NodeWriter writer(*this, id);
  writings().at(node.op)(writer);
}

void FileWriter::describe(ValueInfoProto& info, const std::string& name, ValueId id) const {
  const TensorType& type = graph().value(id).type;
  const Shape& there = other_graph().value(id).type.shape;
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type(type.dtype));
  auto& shape = *tensor.mutable_shape();
  for (int a = 0; a < type.shape.rank(); ++a) {
    auto& extent = *shape.add_dim();
    if (type.shape[a] == there[a])
      extent.set_dim_value(type.shape[a]);
    else  // a multiple of the batch has its own name
      extent.set_dim_param(type.shape[a] == batches().first ? std::string(kBatch)
                                                            : fmt::format("{}_{}", name, a));
  }
}

std::pair<std::int64_t, std::int64_t> FileWriter::batches() const {
  for (const auto& [name, id] : forward_.inputs) {
    const Shape &here = graph().value(id).type.shape, &there = other_graph().value(id).type.shape;
    for (int a = 0; a < here.rank(); ++a)
      if (here[a] != there[a]) return {here[a], there[a]};
  }
  return {0, 0};
}

std::string FileWriter::batch_name() {
  if (!batch_name_.empty()) return batch_name_;
  for (const auto& [name, id] : forward_.inputs) {
    const Shape &here = graph().value(id).type.shape, &there = other_graph().value(id).type.shape;
    for (int a = 0; a < here.rank(); ++a) {
      if (here[a] == there[a]) continue;
      const std::string extents = unique("batch.shape");
      add_node("Shape", {name}, {}, {extents}).set_name(unique_node(extents));
      batch_name_ = unique("batch");
      const std::string which =
          store("batch.axis", {"", {{1}, DType::i64}, bytes_of_integer(static_cast<std::int64_t>(a))});
      add_node("Gather", {extents, which}, {{"axis", std::int64_t{0}}}, {batch_name_})
          .set_name(unique_node(batch_name_));
      return batch_name_;
    }
  }
  fail("the batch of a graph that has none");
}

std::string file_of(const std::string& name, const ForwardGraph& forward, const ForwardGraph* other,
                    const Elements& elements) {
  return FileWriter(name, forward, other, elements).write();
}

}  // namespace headroom::onnx
