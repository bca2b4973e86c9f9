#include "train/weights.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "data/mxnet_params.h"
#include "data/tensor_values.h"
#include "models/layers.h"
#include "train/saved_network.h"
#include "train/unsharded.h"

namespace headroom {
namespace {

Hint saved_from(const TensorFile& file, const std::string& path) {
  const std::string name = network_in(file.metadata, path).name();
  const auto model = file.metadata.find("model");
  if (name.empty() && model == file.metadata.end()) return {"name the model these weights were trained for"};
  return {fmt::format("the file was saved from model '{}'; give the same options",
                      name.empty() ? model->second : name)};
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

// False if a finite value would become infinite.
bool holds(DType dtype, const NamedTensor& tensor) {
  if (dtype != DType::f16) return true;
  constexpr double kTooLarge = 65520;  // rounds to infinity
  for (std::int64_t i = 0; i < tensor.type.shape.numel(); ++i)
    if (const double value = std::fabs(value_at(tensor, i)); std::isfinite(value) && value >= kTooLarge)
      return false;
  return true;
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

std::vector<std::string> save_weights(const Engine& engine, const std::string& path,
                                      const SaveOptions& options) {
  TensorFile file;
  file.metadata = options.facts;
  file.metadata["format"] = "headroom";
  put_network(file.metadata, engine.net(), options.spec);
  std::vector<std::string> warnings;
  for (const std::string& name : engine.weight_names()) {
    NamedTensor tensor{name, unsharded_type(engine, name), read_unsharded(engine, name)};
    if (options.precision && holds(*options.precision, tensor))
      tensor = as_type(tensor, *options.precision);
    else if (options.precision)
      warnings.push_back(fmt::format("tensor '{}' has values beyond the range of {}: it is saved in {}", name,
                                     name_of(*options.precision), name_of(tensor.type.dtype)));
    file.tensors.push_back(std::move(tensor));
  }
  if (engine.is_first()) write_safetensors(path, file);
  return warnings;
}

namespace {

std::string shown(const NamedTensor& tensor) {
  return fmt::format("{} {}", tensor.name, tensor.type.shape.str());
}

// Tensors that other programs keep beside their weights: PyTorch counts batches (num_batches_tracked) and
// stores positions and masks. Integers and truth values are never trained.
bool is_bookkeeping(const NamedTensor& tensor) {
  return !is_float(tensor.type.dtype) || tensor.name.ends_with("num_batches_tracked");
}

void require_same_network(const TensorFile& file, const std::string& path, const Net& net) {
  const SavedNetwork saved = network_in(file.metadata, path);
  const std::string difference = saved.net ? difference_of(*saved.net, net) : "";
  if (!difference.empty())
    reject(saved_from(file, path), "{} holds the weights of another network than '{}': {}", path, net.name,
           difference);
}

const NamedTensor* find(const TensorFile& file, const std::string& name) {
  const auto found = std::ranges::find(file.tensors, name, &NamedTensor::name);
  return found == file.tensors.end() ? nullptr : &*found;
}

const NamedTensor& fitting(const Engine& engine, const TensorFile& file, const std::string& path,
                           const std::string& name) {
  const NamedTensor* found = find(file, name);
  if (found == nullptr)
    reject(saved_from(file, path), "{} has no tensor '{}', which model '{}' needs", path, name,
           engine.net().name);
  if (found->type.shape != unsharded_type(engine, name).shape)
    reject(saved_from(file, path), "{}: tensor '{}' is {}, but model '{}' needs {}", path, name,
           found->type.shape.str(), engine.net().name, unsharded_type(engine, name).shape.str());
  if (!is_float(found->type.dtype))
    reject("{}: tensor '{}' holds {}; fp64, fp32, fp16 or bf16 can be read", path, name,
           name_of(found->type.dtype));
  return *found;
}

void write(Engine& engine, const std::vector<const NamedTensor*>& tensors) {
  for (const NamedTensor* tensor : tensors)
    write_unsharded(engine, tensor->name, as_type(*tensor, engine.storage().type(tensor->name).dtype).bytes);
}

// "fc", the last layer with weights: the classifier.
std::string head_of(const Engine& engine) {
  const Net& net = engine.net();
  if (net.imported || net.layers.empty() || !has_classes(net) || reads_tokens(net))
    reject("`new-head` is for classifiers of the zoo or of a net.json, and '{}' is not one", net.name);
  for (auto layer = net.layers.rbegin(); layer != net.layers.rend(); ++layer)
    if (std::ranges::any_of(engine.weight_names(),
                            [&](const std::string& name) { return name.starts_with(layer->name + "."); }))
      return layer->name;
  reject("model '{}' has no layer with weights", net.name);
}

}  // namespace

LoadedWeights load_weights(Engine& engine, const std::string& path) {
  const TensorFile file = read_weights(path, engine.net());
  LoadedWeights result;
  std::vector<const NamedTensor*> matched;
  for (const std::string& name : engine.weight_names()) {
    matched.push_back(&fitting(engine, file, path, name));
    result.loaded.push_back(name);
  }
  for (const NamedTensor& tensor : file.tensors) {
    if (std::ranges::find(matched, &tensor) != matched.end()) continue;
    if (!is_bookkeeping(tensor))
      reject(saved_from(file, path), "{} has a tensor '{}', which model '{}' lacks", path, tensor.name,
             engine.net().name);
    result.ignored.push_back(tensor.name);
  }
  require_same_network(file, path, engine.net());
  write(engine, matched);
  return result;
}

LoadedWeights load_without_head(Engine& engine, const std::string& path) {
  const std::string head = head_of(engine) + ".";
  const TensorFile file = read_weights(path, engine.net());
  require_same_network(file, path, engine.net());
  LoadedWeights result;
  std::vector<const NamedTensor*> matched;
  for (const std::string& name : engine.weight_names()) {
    const NamedTensor* found = find(file, name);
    const Shape shape = unsharded_type(engine, name).shape;
    if (!name.starts_with(head) && found != nullptr && found->type.shape == shape &&
        is_float(found->type.dtype)) {
      matched.push_back(found);
      result.loaded.push_back(name);
    } else {
      result.fresh.push_back(fmt::format("{} {}", name, shape.str()));
    }
  }
  if (matched.empty())
    reject(saved_from(file, path), "{} has no tensor that fits model '{}' below its last layer", path,
           engine.net().name);
  for (const NamedTensor& tensor : file.tensors)
    if (std::ranges::find(matched, &tensor) == matched.end())
      is_bookkeeping(tensor) ? result.ignored.push_back(tensor.name) : result.left.push_back(shown(tensor));
  write(engine, matched);
  return result;
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
