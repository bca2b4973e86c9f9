#include "models/onnx/known_inputs.h"

#include "base/file.h"
#include "models/onnx/file.h"
#include "models/onnx/imported.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {

Net read_knowing(const std::filesystem::path& path, const std::vector<KnownInput>& known) {
  ModelProto model = File::read(path)->model();
  GraphProto& graph = *model.mutable_graph();
  for (const KnownInput& input : known) {
    TensorProto tensor;
    if (!tensor.ParseFromString(read_file(input.tensor))) reject("{} holds no tensor", input.tensor.string());
    tensor.set_name(input.name);
    for (int i = graph.input_size(); i-- > 0;)
      if (graph.input(i).name() == input.name) graph.mutable_input()->DeleteSubrange(i, 1);
    *graph.add_initializer() = std::move(tensor);
  }
  if (graph.input().empty()) {  // a network has an input, even one that nobody reads
    ValueInfoProto& unused = *graph.add_input();
    unused.set_name("unused");
    auto& type = *unused.mutable_type()->mutable_tensor_type();
    type.set_elem_type(TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_value(1);
  }
  const auto imported = std::make_shared<const ImportedGraph>(File::parse(model.SerializeAsString(), path),
                                                              std::map<std::string, std::int64_t>{});
  Net net(imported->name(), imported->item());
  net.imported = imported;
  return net;
}

}  // namespace headroom::onnx
