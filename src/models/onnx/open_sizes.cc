#include "models/onnx/open_sizes.h"

#include <set>

#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {

std::vector<OpenInput> open_inputs(const std::string& path) {
  const auto file = File::read(path);
  std::set<std::string> weights;
  for (const TensorProto& tensor : file->graph().initializer()) weights.insert(tensor.name());
  std::vector<OpenInput> inputs;
  for (const ValueInfoProto& info : file->graph().input()) {
    if (weights.contains(info.name())) continue;
    OpenInput input{info.name(), {}};
    for (const auto& extent : info.type().tensor_type().shape().dim()) {
      const bool open = extent.dim_value() <= 0;
      // One without a name has the input's and the axis: "x.2".
      input.symbols.push_back(!open ? ""
                              : !extent.dim_param().empty()
                                  ? extent.dim_param()
                                  : fmt::format("{}.{}", input.name, input.symbols.size()));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::map<std::string, std::int64_t> sizes_by(const std::vector<OpenInput>& inputs,
                                             const std::map<std::string, Shape>& arrays) {
  std::map<std::string, std::int64_t> sizes;
  for (const OpenInput& input : inputs) {
    const auto array = arrays.find(input.name);
    if (array == arrays.end() || array->second.rank() != static_cast<int>(input.symbols.size())) continue;
    for (std::size_t a = 0; a < input.symbols.size(); ++a)
      if (const std::int64_t size = array->second[static_cast<int>(a)]; !input.symbols[a].empty() && size > 0)
        sizes.emplace(input.symbols[a], size);
  }
  return sizes;
}

}  // namespace headroom::onnx
