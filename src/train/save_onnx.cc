#include "train/save_onnx.h"

#include "base/file.h"
#include "data/tensor_values.h"
#include "models/onnx/imported.h"
#include "models/onnx/write.h"
#include "train/program.h"
#include "train/unsharded.h"

namespace headroom {
namespace {

onnx::ForwardGraph forward_graph(const Program& program) {
  onnx::ForwardGraph forward{&program.graph, {}, {}};
  for (const Port& port : program.inputs) forward.inputs.emplace_back(port.name, port.value);
  for (const Port& port : program.outputs) forward.outputs.emplace_back(port.name, port.value);
  return forward;
}

std::string bytes_of(const Net& net, std::int64_t batch, const onnx::Elements& elements) {
  if (batch == 0) batch = fixed_batch(net);
  const Program program = make_forward(net, batch > 0 ? batch : 2, DType::f32, Fusion::none);
  require_complete(program, net);
  for (const Port& port : program.outputs)
    if (port.count != kNone)
      reject(Hint{"`run` cuts it to its true size"},
             "{}: the size of output '{}' depends on the data, which a file that we write cannot express",
             net.name, port.name);
  const onnx::ForwardGraph forward = forward_graph(program);
  if (batch > 0) return onnx::file_of(net.name, forward, nullptr, elements);
  const Program another = make_forward(net, 3, DType::f32, Fusion::none);
  const onnx::ForwardGraph other = forward_graph(another);
  return onnx::file_of(net.name, forward, &other, elements);
}

NamedTensor zeros(const Value& value) {
  return {value.name, value.type, std::vector<std::byte>(static_cast<std::size_t>(value.type.bytes()))};
}

// Trained values come from storage, in the engine's precision; constants are computed again.
NamedTensor elements_of(const Engine& engine, const Value& value) {
  const Storage& storage = engine.storage();
  NamedTensor tensor{value.name, value.type, {}};
  if (storage.has(value.name) && unsharded_type(engine, value.name).shape == value.type.shape) {
    tensor.type.dtype = storage.type(value.name).dtype;
    tensor.bytes = read_unsharded(engine, value.name);
    return as_type(tensor, value.type.dtype);
  }
  if (value.init.kind == Initializer::Kind::from_data) {
    tensor.bytes.resize(static_cast<std::size_t>(tensor.type.bytes()));
    value.init.data->convert(value.type.dtype, tensor.bytes.data());
    return tensor;
  }
  const Shape shape = value.type.shape;
  NamedTensor wide{value.name, {shape, DType::f64}, {}};
  const std::vector<double> first = initial_values(value, engine.options().seed);
  const auto* begin = reinterpret_cast<const std::byte*>(first.data());
  wide.bytes.assign(begin, begin + first.size() * sizeof(double));
  return as_type(wide, value.type.dtype);
}

}  // namespace

void require_onnx(const Net& net, std::int64_t batch) { bytes_of(net, batch, zeros); }

void save_onnx(const Engine& engine, const std::string& path, std::int64_t batch) {
  const std::string bytes =
      bytes_of(engine.net(), batch, [&](const Value& v) { return elements_of(engine, v); });
  if (engine.is_first()) write_file(path, bytes);
}

}  // namespace headroom
