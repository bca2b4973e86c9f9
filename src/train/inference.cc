#include "train/inference.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "data/tensor_values.h"
#include "models/onnx/for_arrays.h"
#include "models/onnx/imported.h"

namespace headroom {
namespace {

// Finds axes whose extent differs between the same port for two batches.
std::vector<PortType> types_of(const Graph& graph, const std::vector<Port>& ports, const Graph* other) {
  std::vector<PortType> types;
  for (const Port& port : ports) {
    const TensorType& type = graph.value(port.value).type;
    PortType t{port.name, type.dtype, type.shape, kNone, port.count != kNone};
    if (other != nullptr)
      for (int a = type.shape.rank(); a-- > 0;)
        if (other->value(port.value).type.shape[a] != type.shape[a]) t.batch_axis = a;
    types.push_back(std::move(t));
  }
  return types;
}

// Converts floats to floats, and integers to integers if every number fits.
NamedTensor fitted(const NamedTensor& array, const PortType& port) {
  const DType from = array.type.dtype;
  const bool floats = is_float(from) && is_float(port.dtype);
  if (from != port.dtype && !floats && !(is_integer(from) && is_integer(port.dtype)))
    reject(Hint{fmt::format("array.astype('{}') converts it in NumPy",
                            is_float(port.dtype)           ? "float32"
                            : port.dtype == DType::boolean ? "bool"
                                                           : std::string(name_of(port.dtype)))},
           "input {} was given as {}", port.str(), name_of(from));
  NamedTensor same = as_type(array, port.dtype);
  if (!floats && from != port.dtype)
    for (std::int64_t i = 0; i < array.type.shape.numel(); ++i)
      if (value_at(same, i) != value_at(array, i))
        reject("input {} was given {} as its element {}, which does not fit", port.str(), text_at(array, i),
               i);
  return same;
}

bool fits(const Shape& given, const PortType& port) {
  if (given.rank() != port.shape.rank()) return false;
  for (int a = 0; a < given.rank(); ++a)
    if (a != port.batch_axis && given[a] != port.shape[a]) return false;
  return true;
}

NamedTensor piece_of(const NamedTensor& array, std::int64_t first, std::int64_t count) {
  Shape shape = array.type.shape;
  const std::size_t row = array.bytes.size() / static_cast<std::size_t>(shape[0]);
  shape[0] = count;
  const auto* begin = array.bytes.data() + static_cast<std::size_t>(first) * row;
  return {array.name, {shape, array.type.dtype}, {begin, begin + static_cast<std::size_t>(count) * row}};
}

// The first elements of an axis.
NamedTensor first_of(const NamedTensor& array, int axis, std::int64_t count) {
  NamedTensor cut{array.name, array.type, {}};
  std::size_t inner = size_of(array.type.dtype);
  for (int a = axis + 1; a < array.type.shape.rank(); ++a)
    inner *= static_cast<std::size_t>(array.type.shape[a]);
  const std::size_t whole = static_cast<std::size_t>(array.type.shape[axis]) * inner;
  cut.type.shape[axis] = count;
  for (std::size_t at = 0; at < array.bytes.size(); at += whole) {
    const auto begin = array.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    cut.bytes.insert(cut.bytes.end(), begin,
                     begin + static_cast<std::ptrdiff_t>(count) * static_cast<std::ptrdiff_t>(inner));
  }
  return cut;
}

void append(NamedTensor& to, const NamedTensor& more) {
  to.type.shape[0] += more.type.shape[0];
  to.bytes.insert(to.bytes.end(), more.bytes.begin(), more.bytes.end());
}

}  // namespace

std::string PortType::str() const {
  std::string dims;
  for (int a = 0; a < shape.rank(); ++a)
    dims += fmt::format("{}{}", a > 0 ? "x" : "", a == batch_axis ? "N" : std::to_string(shape[a]));
  return fmt::format("'{}' ({} {})", name, shape.rank() == 0 ? "scalar" : dims, name_of(dtype));
}

Net net_for_arrays(const std::string& spec, std::vector<NamedTensor>& arrays) {
  const onnx::Spec parsed = onnx::parse_spec(spec);
  const auto complete = [](const Net& net) {
    return make_forward(net, std::max<std::int64_t>(1, fixed_batch(net)), DType::f32).unknown.empty();
  };
  const auto any = [&](auto holds) { return std::ranges::any_of(arrays, holds); };
  const bool empty = any([](const NamedTensor& a) { return a.type.shape.numel() == 0; });
  if (!empty) {
    Net net = onnx::fitted_to_shapes(parsed, arrays);
    const bool may_help =
        any([](const NamedTensor& a) { return a.type.shape.rank() <= 1 || is_integer(a.type.dtype); });
    if (!may_help || complete(net)) return net;
  }
  std::vector<NamedTensor> left = arrays;
  Net net = onnx::fitted_to_values(parsed, left, onnx::Known::integers);
  if (!complete(net)) left = arrays, net = onnx::fitted_to_values(parsed, left, onnx::Known::short_lists);
  arrays = std::move(left);
  return net;
}

Inference::Inference(Engine& engine)
    : engine_(engine), arena_(engine.device()), fixed_batch_(fixed_batch(engine.net())) {
  const DType precision = engine.options().precision;
  const Program one = make_forward(engine.net(), fixed_batch_ > 0 ? fixed_batch_ : 1, precision);
  require_complete(one, engine.net());
  // A file may leave its batch open and still have shapes that work for one batch only.
  std::optional<Program> two;
  try {
    if (fixed_batch_ == 0) two = make_forward(engine.net(), 2, precision);
  } catch (const Error&) {
    if (!engine.net().imported) throw;
    fixed_batch_ = 1;
  }
  inputs_ = types_of(one.graph, one.inputs, two ? &two->graph : nullptr);
  outputs_ = types_of(one.graph, one.outputs, two ? &two->graph : nullptr);
}

Inference::Ready& Inference::ready(std::int64_t batch) {
  if (const auto it = ready_.find(batch); it != ready_.end()) return it->second;
  const BuildRequest request = build_request(engine_.options(), engine_.target(), Mode::infer, batch);
  return ready_.emplace(batch, engine_.make_ready(request, arena_)).first->second;
}

std::string Inference::explain() const { return last_ == nullptr ? std::string() : last_->explain(); }

const Plan* Inference::plan() const { return last_ == nullptr ? nullptr : &last_->plan(); }

const std::vector<PassReport>& Inference::passes() const {
  static const std::vector<PassReport> none;
  return last_ == nullptr ? none : last_->passes;
}

Executor& Inference::executor() {
  if (last_ == nullptr) fail("no pass has run yet");
  return *last_->executor;
}

void Inference::repeat(Recorders recorders) {
  if (last_ == nullptr) fail("nothing has run yet, so nothing can be repeated");
  last_->executor->run(recorders);
}

std::vector<NamedTensor> Inference::in_order(const std::vector<NamedTensor>& arrays) const {
  std::vector<NamedTensor> ordered;
  for (const PortType& port : inputs_) {
    const auto found = std::ranges::find(arrays, port.name, &NamedTensor::name);
    if (found == arrays.end()) reject("input {} was not given", port.str());
    ordered.push_back(fitted(*found, port));
  }
  std::vector<std::string> names;
  for (const PortType& port : inputs_) names.push_back(port.name);
  for (const NamedTensor& array : arrays)
    if (std::ranges::find(names, array.name) == names.end())
      reject(nearest(array.name, names), "model '{}' has no input '{}'", engine_.net().name, array.name);
  return ordered;
}

std::int64_t Inference::batch_of(const std::vector<NamedTensor>& arrays) const {
  std::int64_t batch = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const PortType& port = inputs_[i];
    const Shape& given = arrays[i].type.shape;
    if (!fits(given, port)) reject("input {} was given as {}", port.str(), given.str());
    if (port.batch_axis == kNone) continue;
    const std::int64_t here = given[port.batch_axis];
    if (here < 1) reject("input {} was given as {}, which is empty", port.str(), given.str());
    if (batch != 0 && here != batch)
      reject("input {} was given for a batch of {}, another input for one of {}", port.str(), here, batch);
    batch = here;
  }
  return std::max<std::int64_t>(batch, 1);
}

std::vector<NamedTensor> Inference::run(const std::vector<NamedTensor>& arrays) {
  const std::vector<NamedTensor> ordered = in_order(arrays);
  auto in_pieces = [&](const std::vector<PortType>& ports) {
    return std::ranges::all_of(ports, [&](const PortType& port) {
      return port.shape.rank() > 0 && port.shape[0] == fixed_batch_ && !port.counted;
    });
  };
  const std::int64_t rows =
      ordered.empty() || ordered[0].type.shape.rank() == 0 ? 0 : ordered[0].type.shape[0];
  // Pieces need networks whose inputs and outputs all have the batch as axis 0, and arrays of equal length.
  bool pieces = fixed_batch_ > 0 && rows > fixed_batch_ && rows % fixed_batch_ == 0 && in_pieces(inputs_) &&
                in_pieces(outputs_);
  for (std::size_t i = 0; pieces && i < ordered.size(); ++i) {
    Shape whole = inputs_[i].shape;
    whole[0] = rows;
    pieces = ordered[i].type.shape == whole;
  }
  if (!pieces)
    return run_once(fixed_batch_ > 0 ? (batch_of(ordered), fixed_batch_) : batch_of(ordered), ordered);
  std::vector<NamedTensor> all;
  for (std::int64_t first = 0; first < rows; first += fixed_batch_) {
    std::vector<NamedTensor> piece;
    for (const NamedTensor& array : ordered) piece.push_back(piece_of(array, first, fixed_batch_));
    const std::vector<NamedTensor> results = run_once(fixed_batch_, piece);
    if (all.empty())
      all = results;
    else
      for (std::size_t o = 0; o < all.size(); ++o) append(all[o], results[o]);
  }
  batch_ = rows;
  return all;
}

std::vector<NamedTensor> Inference::run_once(std::int64_t batch, const std::vector<NamedTensor>& arrays) {
  Ready& r = ready(batch);
  batch_ = batch;
  last_ = &r;
  Device& device = engine_.device();
  buffers_.clear();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    buffers_.push_back(device.allocate(std::max<std::size_t>(arrays[i].bytes.size(), 1)));
    device.upload(buffers_.back().data(), arrays[i].bytes.data(), arrays[i].bytes.size());
    r.executor->bind(r.program.inputs[i].value, buffers_.back().data());
  }
  r.executor->run();
  std::vector<NamedTensor> results;
  for (const Port& port : r.program.outputs) results.push_back(output(r, port, arrays));
  return results;
}

// An output need not be computed: it may be an input or a weight, perhaps reshaped.
NamedTensor Inference::output(Ready& r, const Port& port, const std::vector<NamedTensor>& arrays) const {
  const Graph& graph = r.program.graph;
  NamedTensor result{port.name, graph.value(port.value).type, {}};
  result.bytes.resize(static_cast<std::size_t>(result.type.bytes()));
  ValueId source = port.value;
  while (graph.value(source).producer != kNone &&
         schema_of(graph.node(graph.value(source).producer).op).is_view)
    source = graph.node(graph.value(source).producer).inputs[0];
  const Value& value = graph.value(source);
  if (value.producer != kNone) {
    engine_.device().download(result.bytes.data(), r.executor->data(source), result.bytes.size());
  } else if (value.role == Role::input) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (r.program.inputs[i].value == source) result.bytes = arrays[i].bytes;
  } else {
    engine_.storage().read(value.name, result.bytes.data(), result.bytes.size());
  }
  if (port.count == kNone) return result;
  const NamedTensor size = output(r, {port.name, port.count}, arrays);
  return first_of(result, port.counted_axis, static_cast<std::int64_t>(value_at(size, 0)));
}

}  // namespace headroom
