#include "models/onnx/for_arrays.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "models/onnx/file.h"
#include "models/onnx/imported.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/write_node.h"

namespace headroom::onnx {
namespace {

// The name of an open dimension of an input; empty if the dimension is fixed. An unnamed one gets the name of
// the input and the axis: "x.2".
std::string symbol_of(const ValueInfoProto& input, int axis) {
  const auto& extent = input.type().tensor_type().shape().dim(axis);
  if (extent.dim_value() > 0) return "";
  return extent.dim_param().empty() ? fmt::format("{}.{}", input.name(), axis) : extent.dim_param();
}

std::vector<const ValueInfoProto*> inputs_of(const GraphProto& graph) {
  std::set<std::string_view> weights;
  for (const TensorProto& tensor : graph.initializer()) weights.insert(tensor.name());
  std::vector<const ValueInfoProto*> inputs;
  for (const ValueInfoProto& input : graph.input())
    if (!weights.contains(input.name())) inputs.push_back(&input);
  return inputs;
}

std::map<std::string, std::int64_t> sizes_of(const Spec& spec, const GraphProto& graph,
                                             const std::vector<NamedTensor>& arrays) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& item : spec.sizes) {
    const std::size_t equals = item.rfind('=');
    if (equals == std::string::npos || equals == 0)
      reject(Hint{"write name=size"}, "dimension '{}' has no size", item);
    sizes[item.substr(0, equals)] = parse_int(item.substr(equals + 1), item.substr(0, equals));
  }
  for (const ValueInfoProto* input : inputs_of(graph)) {
    const auto array = std::ranges::find(arrays, input->name(), &NamedTensor::name);
    const int rank = input->type().tensor_type().shape().dim_size();
    if (array == arrays.end() || array->type.shape.rank() != rank) continue;
    for (int a = 0; a < rank; ++a)
      if (const std::string symbol = symbol_of(*input, a); !symbol.empty() && array->type.shape[a] > 0)
        sizes.emplace(symbol, array->type.shape[a]);
  }
  return sizes;
}

// Floats for floats, integers for integers, and sizes as far as the file fixes them.
bool takes(const ValueInfoProto& input, const NamedTensor& array) {
  const auto& type = input.type().tensor_type();
  const std::optional<DType> dtype = dtype_of(type.elem_type());
  const auto is_whole = [](DType t) { return t == DType::i64 || t == DType::i32; };
  if (!dtype || is_float(*dtype) != is_float(array.type.dtype) ||
      is_whole(*dtype) != is_whole(array.type.dtype))
    return false;
  if (is_whole(*dtype)) return true;
  if (type.shape().dim_size() != array.type.shape.rank()) return false;
  for (int a = 0; a < array.type.shape.rank(); ++a)
    if (const std::int64_t fixed = type.shape().dim(a).dim_value(); fixed > 0 && fixed != array.type.shape[a])
      return false;
  return true;
}

Net net_of(std::shared_ptr<const File> file, std::map<std::string, std::int64_t> sizes) {
  const auto graph = std::make_shared<const ImportedGraph>(std::move(file), std::move(sizes));
  Net net(graph->name(), graph->item());
  net.imported = graph;
  return net;
}

}  // namespace

std::string Spec::str() const {
  return sizes.empty() ? path : fmt::format("{}:{}", path, fmt::join(sizes, ","));
}

Spec parse_spec(const std::string& text) {
  constexpr std::string_view kEnd = ".onnx:";
  const std::size_t at = text.find(kEnd);
  if (at == std::string::npos) return {text, {}};
  return {text.substr(0, at + kEnd.size() - 1), split(text.substr(at + kEnd.size()), ',')};
}

std::vector<InputText> input_texts(const std::string& path) {
  const auto file = File::read(path);
  std::vector<InputText> texts;
  for (const ValueInfoProto* input : inputs_of(file->graph())) {
    const auto& type = input->type().tensor_type();
    std::vector<std::string> dims;
    for (int a = 0; a < type.shape().dim_size(); ++a) {
      const std::string symbol = symbol_of(*input, a);
      dims.push_back(symbol.empty() ? std::to_string(type.shape().dim(a).dim_value()) : symbol);
    }
    const std::optional<DType> ours = dtype_of(type.elem_type());
    const std::string kind = ours ? std::string(name_of(*ours)) : name_of_type(type.elem_type());
    texts.push_back({input->name(),
                     fmt::format("'{}' ({} {})", input->name(),
                                 dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, " x ")), kind)});
  }
  return texts;
}

std::map<std::string, std::string> narrow_outputs(const std::string& path) {
  std::map<std::string, std::string> names;
  const std::shared_ptr<const File> file = File::read(path);
  for (const ValueInfoProto& output : file->graph().output())
    switch (output.type().tensor_type().elem_type()) {
      case TensorProto::INT16:
        names[output.name()] = "i2";
        break;
      case TensorProto::UINT16:
        names[output.name()] = "u2";
        break;
      case TensorProto::UINT32:
        names[output.name()] = "u4";
        break;
      case TensorProto::UINT64:
        names[output.name()] = "u8";
        break;
      default:
        break;
    }
  return names;
}

std::vector<std::string> input_names(const std::string& path) {
  std::vector<std::string> names;
  for (InputText& text : input_texts(path)) names.push_back(std::move(text.name));
  return names;
}

Net fitted_to_shapes(const Spec& spec, const std::vector<NamedTensor>& arrays) {
  auto file = File::read(spec.path);
  auto sizes = sizes_of(spec, file->graph(), arrays);
  return net_of(std::move(file), std::move(sizes));
}

Net fitted_to_values(const Spec& spec, std::vector<NamedTensor>& arrays, Known known) {
  const auto file = File::read(spec.path);
  const auto sizes = sizes_of(spec, file->graph(), arrays);
  ModelProto model = file->model();
  std::map<std::string, std::int64_t> open;  // those left over
  std::map<std::string, const ValueInfoProto*> declared;
  for (const ValueInfoProto* input : inputs_of(file->graph())) declared[input->name()] = input;
  // An array that its input does not take stays, so that it is refused.
  const auto is_taken = [&](const NamedTensor& a) {
    constexpr std::int64_t kShort = 64;
    const auto input = declared.find(a.name);
    if (input == declared.end() || !takes(*input->second, a)) return false;
    const std::int64_t elements = a.type.shape.numel();
    if (a.type.dtype == DType::i64 || a.type.dtype == DType::i32 || elements == 0) return true;
    return known == Known::short_lists && a.type.shape.rank() <= 1 && elements <= kShort;
  };
  for (const NamedTensor& array : arrays) {
    if (!is_taken(array)) continue;
    TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name(array.name);
    weight.set_data_type(onnx_type(array.type.dtype));
    for (const std::int64_t extent : array.type.shape.dims()) weight.add_dims(extent);
    weight.set_raw_data(array.bytes.data(), array.bytes.size());
  }
  std::erase_if(arrays, is_taken);
  if (inputs_of(model.graph()).empty()) {  // a network needs an input, even an unused one
    arrays.push_back({"unused", {{1}, DType::f32}, std::vector<std::byte>(sizeof(float))});
    ValueInfoProto& unused = *model.mutable_graph()->add_input();
    unused.set_name("unused");
    auto& type = *unused.mutable_type()->mutable_tensor_type();
    type.set_elem_type(TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_value(1);
  }
  for (const ValueInfoProto* input : inputs_of(model.graph()))
    for (int a = 0; a < input->type().tensor_type().shape().dim_size(); ++a)
      if (const auto size = sizes.find(symbol_of(*input, a)); size != sizes.end()) open.insert(*size);
  return net_of(File::parse(model.SerializeAsString(), spec.path), std::move(open));
}

}  // namespace headroom::onnx
