// Graphs of one ONNX node each, read and run, compared with onnxruntime's results
// (golden/make_onnx_operators.py, golden/make_onnx_detection.py). Once unchanged, and once with all inputs
// stored in the file, so that the reader computes them itself.
#include <gtest/gtest.h>

#include <unistd.h>

#include "models/onnx/imported.h"
#include "support/onnx_cases.h"
#include "support/onnx_rules.h"
#include "train/inference.h"
#include "train/save_onnx.h"

namespace headroom::testing {
namespace {

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
  const Json c = onnx_cases()[static_cast<std::size_t>(GetParam())];
  for (DType dtype : {DType::f32, DType::f64}) {
    check(c, false, dtype);
    check(c, true, dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnnxOperators, ::testing::Range(0, static_cast<int>(onnx_cases().size())),
                         [](const auto& test) {
                           const Json& op = onnx_cases()[static_cast<std::size_t>(test.param)]["op"];
                           return fmt::format("{}_{}", op.get<std::string>(), test.param);
                         });

}  // namespace
}  // namespace headroom::testing
