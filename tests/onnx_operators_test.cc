// Graphs of one ONNX node each, read and run, compared with onnxruntime's results
// (golden/make_onnx_operators.py, golden/make_onnx_detection.py). Once unchanged, and once with all inputs
// stored in the file, so that the reader computes them itself.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "data/tensor_values.h"
#include "models/onnx/imported.h"
#include "models/onnx/onnx.pb.h"
#include "support/onnx_rules.h"
#include "train/inference.h"
#include "train/save_onnx.h"

namespace headroom::testing {
namespace {

const Json& cases() {
  static const Json all = [] {
    Json list = Json::array();
    for (const char* name : {"onnx_operators.json", "onnx_quantized.json", "onnx_detection.json"})
      for (Json& c :
           Json::parse(read_file(std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests" / "golden" / name)))
        list.push_back(std::move(c));
    return list;
  }();
  return all;
}

DType dtype_of(const std::string& name) {
  if (name == "float32") return DType::f32;
  if (name == "int64") return DType::i64;
  if (name == "uint8") return DType::u8;
  if (name == "int8") return DType::i8;
  return name == "int32" ? DType::i32 : DType::boolean;
}
int number_of(DType dtype) {
  using onnx::TensorProto;
  if (is_8bit(dtype)) return dtype == DType::u8 ? TensorProto::UINT8 : TensorProto::INT8;
  return dtype == DType::f32   ? TensorProto::FLOAT
         : dtype == DType::i64 ? TensorProto::INT64
         : dtype == DType::i32 ? TensorProto::INT32
         : dtype == DType::u8  ? TensorProto::UINT8
                               : TensorProto::BOOL;
}

double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string text = json.get<std::string>();
  return text == "nan" ? std::nan("") : text == "inf" ? INFINITY : -INFINITY;
}

NamedTensor tensor_of(const Json& json) {
  std::vector<double> values;
  for (const Json& v : json["data"]) values.push_back(number(v));
  const Shape shape(json["shape"].get<std::vector<std::int64_t>>());
  NamedTensor wide{json["name"], {shape, DType::f64}, {}};
  wide.bytes.resize(values.size() * sizeof(double));
  if (!values.empty()) std::memcpy(wide.bytes.data(), values.data(), wide.bytes.size());
  return as_type(wide, dtype_of(json["type"]));
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const Json& value) {
  using onnx::AttributeProto;
  AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  if (value.is_number_integer()) {
    a.set_type(AttributeProto::INT), a.set_i(value.get<std::int64_t>());
  } else if (value.is_number()) {
    a.set_type(AttributeProto::FLOAT), a.set_f(value.get<float>());
  } else if (value.is_string()) {
    a.set_type(AttributeProto::STRING), a.set_s(value.get<std::string>());
  } else if (value[0].is_number_integer()) {
    a.set_type(AttributeProto::INTS);
    for (const Json& v : value) a.add_ints(v.get<std::int64_t>());
  } else if (value[0].is_number()) {
    a.set_type(AttributeProto::FLOATS);
    for (const Json& v : value) a.add_floats(v.get<float>());
  } else {
    a.set_type(AttributeProto::STRINGS);
    for (const Json& v : value) a.add_strings(v.get<std::string>());
  }
}

onnx::ModelProto model_of(const Json& c, bool all_stored) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  onnx::OperatorSetIdProto& set = *model.add_opset_import();
  set.set_domain(""), set.set_version(c["opset"].get<std::int64_t>());
  const std::string op = c["op"].get<std::string>(), domain = c.value("domain", "");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("one node");
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op), node.set_name("tested");
  if (!domain.empty()) {
    node.set_domain(domain);
    onnx::OperatorSetIdProto& own = *model.add_opset_import();
    own.set_domain(domain), own.set_version(1);
  }
  for (const Json& name : c["reads"]) node.add_input(name.get<std::string>());
  for (const auto& [name, value] : c["attributes"].items()) set_attribute(node, name, value);
  const auto store = [&](const Json& json) {
    const NamedTensor tensor = tensor_of(json);
    onnx::TensorProto& to = *graph.add_initializer();
    to.set_name(tensor.name), to.set_data_type(number_of(tensor.type.dtype));
    for (std::int64_t d : tensor.type.shape.dims()) to.add_dims(d);
    to.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  };
  for (const Json& json : c["stored"]) store(json);
  const auto declare = [&](const std::string& name, int type, const std::vector<std::int64_t>& dims) {
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (std::int64_t d : dims) tensor.mutable_shape()->add_dim()->set_dim_value(d);
    tensor.mutable_shape();  // for a scalar too
  };
  for (const Json& json : c["inputs"])
    if (all_stored)
      store(json);
    else
      declare(json["name"], number_of(dtype_of(json["type"])), json["shape"]);
  if (graph.input().empty()) declare("unused", onnx::TensorProto::FLOAT, {1});  // a network needs an input
  for (const Json& json : c["outputs"]) {
    node.add_output(json["name"].get<std::string>());
    graph.add_output()->set_name(json["name"].get<std::string>());
  }
  return model;
}

class OnnxOperators : public ::testing::TestWithParam<int> {};

void expect_outputs(const Json& c, const std::vector<NamedTensor>& outputs) {
  ASSERT_EQ(outputs.size(), c["outputs"].size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NamedTensor want = tensor_of(c["outputs"][i]);
    const bool floats = is_float(want.type.dtype);
    // onnxruntime computed in fp32.
    const Difference d = compare(floats ? as_type(outputs[i], DType::f64) : outputs[i],
                                 floats ? as_type(want, DType::f64) : want, {2e-5, 2e-5});
    EXPECT_TRUE(d.passed()) << want.name << ": " << d.mismatch << d.wrong << " of " << d.elements
                            << " are wrong; element " << d.worst << " is " << d.got << ", not " << d.wanted;
  }
}

void check(const Json& c, bool all_stored, DType dtype) {
  SCOPED_TRACE(fmt::format("{} of opset {} {}{} in {}", c["op"].get<std::string>(), c["opset"].get<int>(),
                           c["attributes"].dump(), all_stored ? ", all stored" : "", name_of(dtype)));
  const std::string path = ::testing::TempDir() + fmt::format("one_node_{}.onnx", ::getpid());
  write_file(path, model_of(c, all_stored).SerializeAsString());
  const Net net = read_onnx(path);
  const auto device = open_device("cpu", 1);
  Engine engine(net, *device, {.precision = dtype});
  Inference inference(engine);
  std::vector<NamedTensor> inputs;
  if (!all_stored)
    for (const Json& json : c["inputs"]) inputs.push_back(tensor_of(json));
  if (inputs.empty()) inputs.push_back({"unused", {{1}, DType::f32}, std::vector<std::byte>(4)});
  expect_outputs(c, inference.run(inputs));
  if (all_stored || dtype != DType::f32 || !c.value("written", true)) return;
  // Written and read again.
  save_onnx(engine, path, std::max<std::int64_t>(1, fixed_batch(net)));
  expect_keeps_rules(read_file(path));
  Engine again(read_onnx(path), *device, {});
  SCOPED_TRACE("written and read again");
  expect_outputs(c, Inference(again).run(inputs));
}

TEST_P(OnnxOperators, AnswerAsOnnxruntimeDoes) {
  const Json c = cases()[static_cast<std::size_t>(GetParam())];
  for (DType dtype : {DType::f32, DType::f64}) {
    check(c, false, dtype);
    check(c, true, dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnnxOperators, ::testing::Range(0, static_cast<int>(cases().size())),
                         [](const auto& test) {
                           const std::string op = cases()[static_cast<std::size_t>(test.param)]["op"];
                           return fmt::format("{}_{}", op.substr(op.rfind(':') + 1), test.param);
                         });

}  // namespace
}  // namespace headroom::testing
