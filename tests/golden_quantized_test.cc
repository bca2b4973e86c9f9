// A quantised network against onnxruntime (golden/quantized/make.py).
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "data/tensor_values.h"
#include "data/testing/bad_input.h"
#include "machine/machine.h"
#include "models/onnx/imported.h"
#include "report/model_table.h"
#include "train/forecast.h"
#include "train/inference.h"
#include "train/save_onnx.h"

namespace headroom::testing {
namespace {

std::filesystem::path quantized_folder() {
  return std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests" / "golden" / "quantized";
}
Net quantized_network() { return read_onnx((quantized_folder() / "quantized.onnx").string()); }

const Json& quantized_answers() {
  static const Json all = Json::parse(read_file(quantized_folder() / "quantized.json"));
  return all;
}

NamedTensor quantized_images(DType dtype) {
  const auto pixels = quantized_answers()["pixels"].get<std::vector<double>>();
  NamedTensor x{"x", {{2, 1, 28, 28}, DType::f64}, std::vector<std::byte>(pixels.size() * sizeof(double))};
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const double value = pixels[i] / 256;
    std::memcpy(&x.bytes[i * sizeof value], &value, sizeof value);
  }
  return as_type(x, dtype);
}

// Integers to the bit, also in fp64.
void expect_quantized_answers(const std::vector<NamedTensor>& outputs) {
  ASSERT_EQ(outputs.size(), 4u);
  for (const NamedTensor& output : outputs) {
    SCOPED_TRACE(output.name);
    const Json& want = quantized_answers()[output.name];
    EXPECT_EQ(output.type.shape, Shape(want["shape"].get<std::vector<std::int64_t>>()));
    const std::vector<double> got = values_of(output);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (output.name == "scores")
        ASSERT_NEAR(got[i], want["data"][i].get<double>(), 1e-5) << i;
      else
        ASSERT_EQ(got[i], want["data"][i].get<double>()) << i;
    }
  }
}

TEST(GoldenQuantized, AnswersAsOnnxruntimeDoes) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto device = open_device("cpu", 2);
    Engine engine(quantized_network(), *device, {.precision = dtype});
    expect_quantized_answers(Inference(engine).run({quantized_images(dtype)}));
  }
}

TEST(GoldenQuantized, WrittenAndReadAgainItAnswersTheSame) {
  const TemporaryFolder out;
  const auto device = open_device("cpu", 1);
  Engine engine(quantized_network(), *device, {});
  save_onnx(engine, (out.path() / "again.onnx").string(), 0);
  Engine again(read_onnx((out.path() / "again.onnx").string()), *device, {});
  expect_quantized_answers(Inference(again).run({quantized_images(DType::f32)}));
}

// Weights of 8 bits are parameters of one byte each.
TEST(GoldenQuantized, CountsItsWeights) {
  const auto device = open_device("cpu", 1);
  Engine engine(quantized_network(), *device, {});
  const Forecast f = forecast(quantized_network(), find_machine("t4"), {}, Mode::eval, 1, 1);
  const ModelCost cost = model_cost(f.built->plan, nullptr);
  EXPECT_EQ(cost.total.parameters, 8 * 25 + 8 + 12 * 72 + 12 + 432 * 16 + 10 * 16);
  std::int64_t bytes = 0;
  for (const ValueId id : f.built->plan.graph.with_role(Role::parameter))
    bytes += f.built->plan.graph.value(id).type.bytes();
  EXPECT_EQ(bytes, 8 * 25 + 4 * 8 + 12 * 72 + 4 * 12 + 432 * 16 + 10 * 16);
  const auto layer = std::ranges::find(cost.layers, "conv1", &LayerCost::layer);
  ASSERT_NE(layer, cost.layers.end());
  EXPECT_EQ(layer->parameters, 208);
  EXPECT_EQ(layer->macs, 8 * 12 * 12 * 25);
}

// The floor of an int8 product is that of the int8 rate, or of the fp32 rate where there is none.
TEST(GoldenQuantized, FloorsFollowTheInt8Rate) {
  Machine machine = find_machine("t4");
  machine.levels = {{"memory", 1e12, 1e14, 0}};  // never the bound
  const auto product_floor = [&] {
    const Forecast f = forecast(quantized_network(), machine, {}, Mode::eval, 64, 1);
    for (std::size_t i = 0; i < f.built->plan.steps.size(); ++i)
      if (f.built->plan.steps[i].problem.op == "matmul_integer") return f.prediction.steps[i].floor_s;
    return 0.0;
  };
  const double operations = 2.0 * 64 * 432 * 16;
  machine.peak_flops = {{"fp32", 1e9}, {"int8", 8e9}};
  EXPECT_DOUBLE_EQ(product_floor(), operations / 8e9);
  machine.peak_flops.erase("int8");
  EXPECT_DOUBLE_EQ(product_floor(), operations / 1e9);
  const Forecast f = forecast(quantized_network(), machine, {}, Mode::eval, 1, 1);
  EXPECT_NE(int8_fallback(f.built->plan, machine).find("No int8 rate of t4"), std::string::npos);
  machine.peak_flops["int8"] = 8e9;
  EXPECT_EQ(int8_fallback(f.built->plan, machine), "");
}

TEST(GoldenQuantized, IsNotTrained) {
  expect_rejected([] { forecast(quantized_network(), find_machine("t4"), {}, Mode::train, 1, 1); },
                  {"cannot be trained", "layer 'conv1' holds quantised weights", "int8"});
}

}  // namespace
}  // namespace headroom::testing
