// Quantised operators at their edges, and files that are wrong. What onnxruntime answers is in
// golden/onnx_quantized.json.
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace headroom::testing {
namespace {

using SetAttribute = std::function<void(onnx::NodeProto&)>;

SetAttribute with_attribute(const std::string& name, std::int64_t value) {
  return [=](onnx::NodeProto& n) { ModelMaker::set(n, name, value); };
}

// The message names the node; the file is refused while it is read.
void expect_node_refused(const OneNode& node, std::initializer_list<std::string_view> parts) {
  expect_rejected([&] { node.run(true); }, {"node 'n' (" + node.op + ")"});
  expect_rejected([&] { node.run(true); }, parts);
}

TEST(OnnxQuantized, RefusesScalesOfZero) {
  const Array x = floats({2}, {1, 2}), zero = whole({}, {0}, TensorProto::UINT8);
  expect_node_refused({"QuantizeLinear", {x, floats({}, {0}), zero}}, {"its scale (input 1) holds 0"});
  expect_node_refused({"DequantizeLinear",
                       {whole({2}, {1, 2}, TensorProto::INT8), floats({2}, {1, 0})},
                       with_attribute("axis", 0)},
                      {"scale"});
  expect_node_refused({"QuantizeLinear", {x, floats({}, {std::numeric_limits<double>::infinity()}), zero}},
                      {"inf"});
}

TEST(OnnxQuantized, RefusesZeroPointsOfAnotherTypeOrShape) {
  const Array x = whole({2, 3}, {1, 2, 3, 4, 5, 6}, TensorProto::INT8), scales = floats({3}, {1, 2, 3});
  expect_node_refused({"DequantizeLinear", {x, scales, whole({3}, {0, 0, 0}, TensorProto::UINT8)}},
                      {"zero point (input 2) is uint8, and its integers are int8"});
  expect_node_refused({"DequantizeLinear", {x, scales, whole({2}, {0, 0}, TensorProto::INT8)}},
                      {"zero points (input 2) are 2, and its scales 3"});
  expect_node_refused({"DequantizeLinear", {x, floats({2}, {1, 2})}}, {"2 scales for axis 1 of 2x3"});
  expect_node_refused({"DequantizeLinear", {x, scales}, with_attribute("axis", 5)}, {"axis 5"});
  expect_node_refused({"QuantizeLinear",
                       {floats({2}, {1, 2}), floats({}, {1}), whole({}, {0}, TensorProto::UINT8)},
                       with_attribute("output_dtype", TensorProto::INT8),
                       21},
                      {"its zero point is uint8, and its output_dtype int8"});
  expect_node_refused(
      {"MatMulInteger", {x, whole({3, 1}, {1, 2, 3}, TensorProto::INT8), whole({}, {0}, TensorProto::UINT8)}},
      {"zero point (input 2) is uint8"});
}

TEST(OnnxQuantized, RefusesNumbersThatTheTypeDoesNotHave) {
  const Array x = floats({2}, {1, 2});
  expect_rejected(
      [&] {
        OneNode{"QuantizeLinear", {x, floats({}, {1}), whole({}, {300}, TensorProto::UINT8)}}.run(true);
      },
      {"tensor 'x2' holds 300, which does not fit uint8"});
}

TEST(OnnxQuantized, KnowsTheRangeOfWiderIntegers) {
  const Array x = floats({4}, {-1e6, 1e6, 1000.5, -5});
  expect_result(
      {"QuantizeLinear", {x, floats({}, {1}), whole({}, {10}, TensorProto::INT16)}, [](auto&) {}, 21},
      whole({4}, {-32768, 32767, 1010, 5}, TensorProto::INT16));
  expect_result(
      {"QuantizeLinear", {x, floats({}, {1}), whole({}, {10}, TensorProto::UINT16)}, [](auto&) {}, 21},
      whole({4}, {0, 65535, 1010, 5}, TensorProto::UINT16));
  expect_result(
      {"QuantizeLinear", {x, floats({}, {1})}, with_attribute("output_dtype", TensorProto::INT4), 21},
      whole({4}, {-8, 7, 7, -5}, TensorProto::INT8));
}

// Two in a byte, the first in its low half; an odd count leaves the last half empty. Raw bytes and typed
// fields hold the same.
TEST(OnnxQuantized, ReadsIntegersOfFourBits) {
  const auto values_stored = [](int type, bool raw) {
    ModelMaker m(21);
    TensorProto& t = *m.graph.add_initializer();
    t.set_name("w"), t.set_data_type(type), t.add_dims(3);
    if (raw)
      t.set_raw_data(std::string("\x81\x0f", 2));
    else
      t.add_int32_data(0x81), t.add_int32_data(0x0f);
    store(m, "scale", floats({}, {0.5}));
    m.input("x", {"3"});
    m.node("DequantizeLinear", {"w", "scale"}, {"d"});
    m.node("Add", {"x", "d"}, {"y"});
    m.graph.add_output()->set_name("y");
    return values_of(run_net(net_of(m), {floats({3}, {0, 0, 0}).tensor("x")}).at(0));
  };
  for (const bool raw : {true, false}) {
    EXPECT_EQ(values_stored(TensorProto::INT4, raw), (std::vector<double>{0.5, -4, -0.5}));
    EXPECT_EQ(values_stored(TensorProto::UINT4, raw), (std::vector<double>{0.5, 4, 7.5}));
  }
}

// Arithmetic of bytes is computed wider, and keeps the low bits.
TEST(OnnxQuantized, BytesWrapAround) {
  expect_result(
      {"Add", {whole({3}, {100, -100, 1}, TensorProto::INT8), whole({3}, {100, -100, 2}, TensorProto::INT8)}},
      whole({3}, {-56, 56, 3}, TensorProto::INT8));
  expect_result({"Mul", {whole({2}, {200, 3}, TensorProto::UINT8), whole({2}, {2, 4}, TensorProto::UINT8)}},
                whole({2}, {144, 12}, TensorProto::UINT8));
  expect_result({"Relu", {whole({3}, {-5, 0, 7}, TensorProto::INT8)}},
                whole({3}, {0, 0, 7}, TensorProto::INT8));
}

}  // namespace
}  // namespace headroom::testing
