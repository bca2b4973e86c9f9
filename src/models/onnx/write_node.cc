#include "models/onnx/write_node.h"

#include <algorithm>
#include <cctype>

#include "models/onnx/write_file.h"

namespace headroom::onnx {

NodeWriter::NodeWriter(FileWriter& file, NodeId id)
    : file_(file), id_(id), node_(file.graph().node(id)), problem_(file.graph().problem(id)) {}

std::int64_t NodeWriter::opset() const { return file_.opset(); }
std::string NodeWriter::input(std::size_t i) const { return file_.name_of_value(node_.inputs.at(i)); }
Names NodeWriter::all_inputs() const {
  Names names;
  for (std::size_t i = 0; i < inputs(); ++i) names.push_back(input(i));
  return names;
}
const Node& NodeWriter::other() const { return file_.other_graph().node(id_); }
const Shape& NodeWriter::other_input(std::size_t i) const {
  return file_.other_graph().value(other().inputs.at(i)).type.shape;
}
bool NodeWriter::follows_batch(std::size_t i, int axis) const {
  return type(i).shape[axis] != other_input(i)[axis];
}
bool NodeWriter::output_follows_batch(int axis) const {
  const Shape& there = file_.other_graph().value(other().outputs.at(0)).type.shape;
  return problem_.outputs[0].shape[axis] != there[axis];
}

Ints NodeWriter::reshaped() const {
  const Shape &from = type(0).shape, &to = problem_.outputs[0].shape;
  Ints dims = to.vector();
  std::vector<std::size_t> varying;
  for (int a = 0; a < to.rank(); ++a)
    if (output_follows_batch(a)) varying.push_back(static_cast<std::size_t>(a));
  // A 0 keeps the input's extent, but only if nothing is empty: 0 elements would be misread.
  for (std::size_t i = 0; i < varying.size(); ++i) {
    const int a = static_cast<int>(varying[i]);
    const bool kept = a < from.rank() && from[a] == to[a] && follows_batch(0, a);
    if (i + 1 < varying.size() && !kept) refuse_batch("two extents of its result follow the batch");
    dims[varying[i]] = i + 1 < varying.size() ? 0 : -1;
  }
  return dims;
}

Ints NodeWriter::reshaped(const Ints& wanted) const {
  Ints dims = wanted;
  for (int a = 0; a < type(0).shape.rank(); ++a)
    if (follows_batch(0, a)) {
      if (a > 0) refuse_batch("an extent behind the first follows the batch");
      dims.at(0) = -1;
    }
  return dims;
}

std::string NodeWriter::batch() { return file_.batch_name(); }

bool NodeWriter::is_batch(int axis) const {
  const Shape& there = file_.other_graph().value(other().outputs.at(0)).type.shape;
  const auto [here, other_batch] = file_.batches();
  return problem_.outputs[0].shape[axis] == here && there[axis] == other_batch;
}

Ints NodeWriter::fixed(std::string_view attribute, Ints fallback) const {
  const Ints here = attrs().integers(attribute, fallback);
  if (other().attrs.integers(attribute, std::move(fallback)) != here)
    refuse_batch(fmt::format("its {} follow the batch", attribute));
  return here;
}

void NodeWriter::result(std::string_view op, const Names& in, const Attrs& attributes) {
  results(op, in, attributes, 1);
}

void NodeWriter::results(std::string_view op, const Names& in, const Attrs& attributes, std::size_t count) {
  const std::string& name = file_.node_name(id_);
  Names out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(file_.give_name(node_.outputs.at(i), i == 0 ? name : fmt::format("{}.{}", name, i)));
  file_.add_node(op, in, attributes, out).set_name(name);
}

void NodeWriter::read_results(std::string_view op, const Names& in, const Attrs& attributes) {
  const std::string& name = file_.node_name(id_);
  Names out = {file_.give_name(node_.outputs.at(0), name)};
  for (std::size_t i = 1; i < node_.outputs.size(); ++i)
    out.push_back(file_.is_read(node_.outputs[i])
                      ? file_.give_name(node_.outputs[i], fmt::format("{}.{}", name, i))
                      : "");
  while (out.back().empty()) out.pop_back();
  file_.add_node(op, in, attributes, out).set_name(name);
}

void NodeWriter::set_texts(const std::string& attribute, const Names& texts) {
  file_.set_texts(attribute, texts);
}

std::string NodeWriter::part(std::string_view op, const Names& in, const Attrs& attributes) {
  std::string kind(op);
  std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string wanted = fmt::format("{}.{}", file_.node_name(id_), kind);
  const std::string out = file_.unique(wanted);
  file_.add_node(op, in, attributes, {out}).set_name(file_.unique_node(wanted));
  return out;
}

namespace {

template <class T>
NamedTensor tensor_of(const Shape& shape, DType dtype, const std::vector<T>& elements) {
  NamedTensor tensor{"", {shape, dtype}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
  tensor.bytes.assign(bytes, bytes + elements.size() * sizeof(T));
  return tensor;
}

}  // namespace

std::string NodeWriter::integers(const Ints& elements) {
  return file_.store(file_.node_name(id_) + ".integers",
                     tensor_of({static_cast<std::int64_t>(elements.size())}, DType::i64, elements));
}

std::string NodeWriter::integer(std::int64_t element) {
  return file_.store(file_.node_name(id_) + ".integer", tensor_of({}, DType::i64, Ints{element}));
}

std::string NodeWriter::real(double element, std::size_t like) {
  const DType dtype = type(like).dtype;
  const ConstantData one = constant_data({}, std::span(&element, 1), dtype);
  const auto* bytes = one.data.get();
  return file_.constant(file_.node_name(id_) + ".number", {"", {{}, dtype}, {bytes, bytes + size_of(dtype)}});
}

std::string NodeWriter::reals(const Shape& shape, const std::vector<double>& elements) {
  const std::vector<float> narrow(elements.begin(), elements.end());
  return file_.constant(file_.node_name(id_) + ".numbers", tensor_of(shape, DType::f32, narrow));
}

void NodeWriter::refuse(std::string_view why) const {
  reject("layer '{}' cannot be written as ONNX: {} {}", node_.layer, node_.op, why);
}

void NodeWriter::refuse_batch(std::string_view what) const {
  reject(Hint{"`batch` 1 writes it for that batch alone"},
         "layer '{}' cannot be written for any batch: {}, {}", node_.layer, node_.op, what);
}

}  // namespace headroom::onnx
