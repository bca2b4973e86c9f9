#include "train/weights.h"

#include <algorithm>
#include <map>

#include "data/mxnet_params.h"
#include "train/unsharded.h"

namespace headroom {
namespace {

// Weights may have been saved in another precision.
template <class To>
std::vector<To> converted(const NamedTensor& tensor) {
  return dispatch_float(tensor.type.dtype, [&]<class From>() {
    const From* values = reinterpret_cast<const From*>(tensor.bytes.data());
    return std::vector<To>(values, values + tensor.type.shape.numel());
  });
}

Hint saved_from(const TensorFile& file) {
  const auto model = file.metadata.find("model");
  if (model == file.metadata.end()) return {"name the model these weights were trained for"};
  return {fmt::format("the file was saved from model '{}'; give the same options", model->second)};
}

TensorFile read_weights(const std::string& path, const Net& net) {
  if (path.ends_with(".params")) return renamed_from_mxnet(read_mxnet_params(path), net);
  return read_safetensors(path);
}

// "fullyconnected0_weight" -> "fullyconnected0", "weight".
std::pair<std::string, std::string> parts_of(const std::string& name) {
  const std::size_t line = name.rfind('_');
  if (line == std::string::npos) return {name, ""};
  return {name.substr(0, line), name.substr(line + 1)};
}

// "new10" comes after "new9"; the order in the file has no meaning.
bool earlier(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

TensorFile renamed_from_mxnet(TensorFile file, const Net& net) {
  std::map<std::string, std::string> layer_of;  // by MXNet's prefix
  std::ranges::sort(file.tensors, earlier, &NamedTensor::name);
  for (const auto& [type, rank] : {std::pair("conv2d", 4), std::pair("linear", 2)}) {
    auto layer = net.layers.begin();
    for (const NamedTensor& tensor : file.tensors) {
      const auto [prefix, part] = parts_of(tensor.name);
      if (part != "weight" || tensor.type.shape.rank() != rank) continue;
      layer = std::find_if(layer, net.layers.end(), [&, t = type](const Layer& l) { return l.type == t; });
      if (layer == net.layers.end()) break;
      layer_of[prefix] = (layer++)->name;
    }
  }
  for (NamedTensor& tensor : file.tensors) {
    const auto [prefix, part] = parts_of(tensor.name);
    if (const auto it = layer_of.find(prefix); it != layer_of.end())
      tensor.name = fmt::format("{}.{}", it->second, part);
  }
  return file;
}

void save_weights(const Engine& engine, const std::string& path) {
  TensorFile file;
  file.metadata = {{"format", "headroom"}, {"model", engine.net().name}};
  for (const std::string& name : engine.weight_names())
    file.tensors.push_back({name, unsharded_type(engine, name), read_unsharded(engine, name)});
  if (engine.is_first()) write_safetensors(path, file);
}

void load_weights(Engine& engine, const std::string& path) {
  const TensorFile file = read_weights(path, engine.net());
  std::vector<const NamedTensor*> matched;
  for (const std::string& name : engine.weight_names()) {
    const NamedTensor* found = nullptr;
    for (const NamedTensor& tensor : file.tensors)
      if (tensor.name == name) found = &tensor;
    if (found == nullptr)
      reject(saved_from(file), "{} has no tensor '{}', which model '{}' needs", path, name,
             engine.net().name);
    if (found->type.shape != unsharded_type(engine, name).shape)
      reject(saved_from(file), "{}: tensor '{}' is {}, but model '{}' needs {}", path, name,
             found->type.shape.str(), engine.net().name, unsharded_type(engine, name).shape.str());
    if (found->type.dtype != DType::f32 && found->type.dtype != DType::f64)
      reject("{}: tensor '{}' holds {}; fp32 or fp64 can be read", path, name, name_of(found->type.dtype));
    matched.push_back(found);
  }
  for (const NamedTensor& tensor : file.tensors)
    if (std::find(matched.begin(), matched.end(), &tensor) == matched.end())
      reject(saved_from(file), "{} has a tensor '{}', which model '{}' lacks", path, tensor.name,
             engine.net().name);
  for (const NamedTensor* tensor : matched)  // change nothing until everything fits
    dispatch_float(engine.storage().type(tensor->name).dtype, [&]<class T>() {
      const std::vector<T> values = converted<T>(*tensor);
      const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
      write_unsharded(engine, tensor->name, {bytes, bytes + values.size() * sizeof(T)});
    });
}

void copy_weights(const Engine& from, Engine& to) {
  for (const std::string& name : from.weight_names())
    dispatch_float(from.storage().type(name).dtype, [&]<class From>() {
      std::vector<From> values(static_cast<std::size_t>(from.storage().type(name).shape.numel()));
      from.storage().read(name, values.data(), values.size() * sizeof(From));
      dispatch_float(to.storage().type(name).dtype, [&]<class To>() {
        const std::vector<To> converted(values.begin(), values.end());
        to.storage().write(name, converted.data(), converted.size() * sizeof(To));
      });
    });
}

}  // namespace headroom
