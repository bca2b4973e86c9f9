#include "models/onnx/imported.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "models/onnx/file.h"
#include "models/onnx/learned.h"
#include "models/onnx/lower.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/order.h"

namespace headroom {

using onnx::GraphProto;
using onnx::TensorShapeProto;
using onnx::ValueInfoProto;

namespace {

bool sounds_like_batch(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<std::string_view, 8> kNames = {"batch", "batch_size", "batchsize", "batch_dim",
                                                      "n",     "bs",         "b",         "batch-size"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// The shape a data set would feed. One gray image is the same in memory with its channel first, last or
// omitted, and a row of numbers stays a row with any number of axes of 1.
std::vector<std::int64_t> as_fed(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> wide;
  for (std::int64_t d : dims)
    if (d != 1) wide.push_back(d);
  if (wide.size() < 2) return {wide.empty() ? 1 : wide[0]};
  if (wide.size() == 2) return {1, wide[0], wide[1]};
  return dims;
}

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;

}  // namespace

ImportedGraph::ImportedGraph(std::shared_ptr<const onnx::File> file,
                             std::map<std::string, std::int64_t> sizes)
    : file_(std::move(file)),
      order_(onnx::live_order(file_->graph(), file_->name())),
      verdicts_(std::make_shared<const onnx::Verdicts>(onnx::judge_tensors(*file_, order_))) {
  read_inputs();
  bind(std::move(sizes));
}

void ImportedGraph::read_inputs() {
  std::set<std::string_view> tensors;
  for (const onnx::TensorProto& tensor : file_->graph().initializer()) tensors.insert(tensor.name());
  for (const ValueInfoProto& info : file_->graph().input()) {
    if (tensors.contains(info.name())) continue;  // a weight, listed as old files do
    if (!info.type().has_tensor_type())
      reject("{}: input '{}' is not a tensor; sequences and optional values are not supported", file_->name(),
             info.name());
    const auto& type = info.type().tensor_type();
    Input input{info.name(), type.elem_type(), {}, {}};
    if (!onnx::dtype_of(input.data_type))
      reject("{}: input '{}' is of {}, which is not read", file_->name(), input.name,
             onnx::name_of_type(input.data_type));
    if (type.shape().dim_size() > Shape::kMaxRank)
      reject("{}: input '{}' has {} dimensions; at most {} are supported", file_->name(), input.name,
             type.shape().dim_size(), Shape::kMaxRank);
    for (const TensorShapeProto::Dimension& d : type.shape().dim()) {
      if (d.dim_value() < 0 || d.dim_value() > kMaxExtent)
        reject("{}: input '{}' has an extent of {}", file_->name(), input.name, d.dim_value());
      const auto axis = input.dims.size();
      input.dims.push_back(d.dim_value());
      input.symbols.push_back(d.dim_value() > 0        ? ""
                              : !d.dim_param().empty() ? d.dim_param()
                                                       : fmt::format("{}.{}", input.name, axis));
    }
    inputs_.push_back(std::move(input));
  }
  if (inputs_.empty()) reject("{} has no inputs", file_->name());
}

std::vector<std::string> ImportedGraph::open_names() const {
  std::vector<std::string> names;
  for (const Input& input : inputs_)
    for (const std::string& symbol : input.symbols)
      if (!symbol.empty() && std::ranges::find(names, symbol) == names.end()) names.push_back(symbol);
  return names;
}

// The batch is the dimension with that name, else an open first dimension; the user must set all others.
void ImportedGraph::bind(std::map<std::string, std::int64_t> sizes) {
  const std::vector<std::string> names = open_names();
  for (const auto& [name, size] : sizes) {
    if (std::ranges::find(names, name) == names.end()) {
      if (names.empty()) reject("{} has no open dimension, so '{}' has no effect", file_->name(), name);
      reject(nearest(name, names), "{} has no open dimension '{}'", file_->name(), name);
    }
    if (size < 1 || size > kMaxExtent) reject("dimension '{}' is {}; it must be at least 1", name, size);
  }
  sizes_ = std::move(sizes);
  for (const std::string& name : names)
    if (batch_symbol_.empty() && sounds_like_batch(name)) batch_symbol_ = name;
  for (const Input& input : inputs_)
    if (batch_symbol_.empty() && !input.symbols.empty()) batch_symbol_ = input.symbols.front();
  // Open without a name: also the batch of that input, if it is the first dimension.
  for (const Input& input : inputs_)
    if (!input.symbols.empty() && input.symbols.front() == input.name + ".0" &&
        (batch_symbol_.empty() || batch_symbol_.ends_with(".0")))
      open_axes_are_batch_ = true;
  if (const auto said = sizes_.find(batch_symbol_); said != sizes_.end()) fixed_batch_ = said->second;
  if (batch_symbol_.empty()) {
    const Input& first = inputs_[first_floats()];
    fixed_batch_ = first.dims.size() > 1 ? first.dims.front() : 1;
  }
  const auto all = bound(1);
  for (const Input& input : inputs_)
    for (const std::string& symbol : input.symbols)
      if (!symbol.empty() && !all.contains(symbol))
        reject(Hint{fmt::format("give its size: `dim` {}=128, or {}:{}=128", symbol, name(), symbol)},
               "{}: dimension '{}' of input '{}' is open", file_->name(), symbol, input.name);
}

std::map<std::string, std::int64_t> ImportedGraph::bound(std::int64_t batch) const {
  std::map<std::string, std::int64_t> all = sizes_;
  if (!batch_symbol_.empty()) all.emplace(batch_symbol_, batch);
  if (open_axes_are_batch_)
    for (const Input& input : inputs_)
      if (!input.symbols.empty() && input.symbols.front() == input.name + ".0")
        all.emplace(input.symbols.front(), batch);
  return all;
}

std::size_t ImportedGraph::first_floats() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (is_float(*onnx::dtype_of(inputs_[i].data_type))) return i;
  return 0;
}

std::vector<std::int64_t> ImportedGraph::item() const {
  const Input& input = inputs_[first_floats()];
  const auto sizes = bound(1);
  std::vector<std::int64_t> dims;
  const std::size_t first = input.dims.size() > 1 || (input.dims.size() == 1 && input.dims[0] == 0) ? 1 : 0;
  for (std::size_t a = first; a < input.dims.size(); ++a)
    dims.push_back(input.dims[a] > 0 ? input.dims[a] : sizes.at(input.symbols[a]));
  return as_fed(dims);
}

bool ImportedGraph::reads_tokens() const {
  if (inputs_.size() != 1 || inputs_[0].dims.size() != 2) return false;
  const DType stored = *onnx::dtype_of(inputs_[0].data_type);
  return stored == DType::i32 || stored == DType::i64;
}

std::string ImportedGraph::name() const { return std::filesystem::path(file_->name()).filename().string(); }

Lowered ImportedGraph::lower(Graph& graph, std::int64_t batch, const Lowering& how) const {
  const auto sizes = bound(fixed_batch_ > 0 ? fixed_batch_ : batch);
  onnx::Lowerer lowerer(*file_, *verdicts_, graph, how, sizes);
  Lowered lowered;
  try {
    lowerer.declare(file_->graph());
    for (const Input& input : inputs_) {
      std::vector<std::int64_t> dims;
      for (std::size_t a = 0; a < input.dims.size(); ++a)
        dims.push_back(input.dims[a] > 0 ? input.dims[a] : sizes.at(input.symbols[a]));
      const DType stored = *onnx::dtype_of(input.data_type);
      const DType given = is_float(stored)                      ? how.dtype
                          : how.fed_by_loader && reads_tokens() ? DType::i32
                                                                : stored;
      const ValueId id = graph.add_value({.name = input.name,
                                          .type = {Shape(dims), given},
                                          .role = Role::input,
                                          .producer = kNone,
                                          .init = {},
                                          .layer = {}});
      const bool cast = !is_float(stored) && given != stored;
      lowerer.define(
          input.name,
          cast ? graph.add_node("cast", {id}, {{"to", std::string(name_of(stored))}}, input.name).at(0) : id);
      lowered.inputs.push_back({input.name, id});
    }
    lowerer.add_tensors(file_->graph());
    lowerer.lower(order_);
    lowerer.give_parameters_to_layers();
  } catch (const Error& error) {
    throw Error(error.blame(), fmt::format("{}: {}", name(), error.what()), Hint{error.hint()});
  }
  lowered.images = lowered.inputs[first_floats()].value;
  for (const ValueInfoProto& output : file_->graph().output())
    if (const ValueId id = lowerer.value_of(output.name()); id != kNone) {
      const auto counted = lowerer.counted(output.name()).value_or(onnx::Counted{kNone, kNone});
      lowered.outputs.push_back({output.name(), id, counted.axis, counted.count});
    }
  lowered.ends = std::move(lowerer.ends);
  for (const Port& output : lowered.outputs)
    for (const ValueId id : {output.value, output.count})
      if (id != kNone) lowered.ends.push_back(id);
  lowered.unknown = std::move(lowerer.unknown);
  lowered.unreached = std::move(lowerer.unreached);
  // The loss has its own softmax.
  const std::string& first = file_->graph().output(0).name();
  lowered.logits = lowerer.reached(first) ? lowerer.value_of(first) : kNone;
  if (lowered.logits != kNone && graph.value(lowered.logits).producer != kNone) {
    const Node& last = graph.node(graph.value(lowered.logits).producer);
    const bool soft = last.op == "softmax" || last.op == "log_softmax";
    const std::int64_t axis = last.attrs.integer("axis", -1);
    const int rank = graph.value(lowered.logits).type.shape.rank();
    if (soft && rank >= 2 && (axis == -1 || axis == rank - 1)) lowered.logits = last.inputs[0];
  }
  return lowered;
}

bool is_onnx_name(std::string_view spec) {
  return spec.ends_with(".onnx") || spec.find(".onnx:") != std::string_view::npos;
}

Net read_onnx(const std::string& spec) {
  const std::size_t colon = spec.find(".onnx:");
  const std::string path = colon == std::string::npos ? spec : spec.substr(0, colon + 5);
  std::map<std::string, std::int64_t> sizes;
  if (colon != std::string::npos)
    for (const std::string& item : split(spec.substr(path.size() + 1), ',')) {
      const std::size_t equals = item.rfind('=');
      if (equals == std::string::npos || equals == 0)
        reject(Hint{fmt::format("write {}:name=size", path)}, "dimension '{}' has no size", item);
      sizes[item.substr(0, equals)] = parse_int(item.substr(equals + 1), item.substr(0, equals));
    }
  const auto graph = std::make_shared<const ImportedGraph>(onnx::File::read(path), std::move(sizes));
  Net net(graph->name(), graph->item());
  net.imported = graph;
  return net;
}

std::int64_t fixed_batch(const Net& net) { return net.imported ? net.imported->fixed_batch() : 0; }

}  // namespace headroom
