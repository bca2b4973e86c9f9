#include "models/onnx/tensor_file.h"

#include "base/error.h"
#include "base/file.h"
#include "models/onnx/convert.h"
#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/write_node.h"

namespace headroom::onnx {

// Reads it as the only weight of a model, so that both are read and refused in the same way.
NamedTensor read_tensor(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(1);
  model.mutable_graph()->add_node();
  TensorProto& tensor = *model.mutable_graph()->add_initializer();
  if (!tensor.ParseFromString(bytes) || tensor.data_type() == TensorProto::UNDEFINED)
    reject(Hint{"give a file of one ONNX tensor, such as input_0.pb; .npy files work too"},
           "{} does not hold an ONNX tensor", path.string());
  const auto file = File::parse(model.SerializeAsString(), path);
  try {
    const ConstantData elements = file->tensor(file->graph().initializer(0));
    const auto* data = elements.data.get();
    return {tensor.name(), elements.type, {data, data + elements.stored_bytes()}};
  } catch (const Unsupported& why) {
    reject("{}: {}", path.string(), why.reason);
  }
}

void write_tensor(const std::filesystem::path& path, const NamedTensor& tensor) {
  TensorProto proto;
  proto.set_name(tensor.name);
  proto.set_data_type(onnx_type(tensor.type.dtype));
  for (const std::int64_t extent : tensor.type.shape.dims()) proto.add_dims(extent);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  write_file(path, proto.SerializeAsString());
}

}  // namespace headroom::onnx
