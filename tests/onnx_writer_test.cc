// A network written as ONNX and read again is the same: the same names, and in fp32 the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/random.h"
#include "data/tensor_values.h"
#include "data/testing/bad_input.h"
#include "device/device.h"
#include "models/onnx/imported.h"
#include "models/testing/small_models.h"
#include "ops/operator.h"
#include "train/inference.h"
#include "train/save_onnx.h"

namespace headroom::testing {
namespace {

std::vector<NamedTensor> random_inputs(const Inference& inference, std::int64_t batch) {
  std::vector<NamedTensor> arrays;
  const Philox random(7, 1);
  for (const PortType& port : inference.inputs()) {
    NamedTensor wide{port.name, {port.shape, DType::f64}, {}};
    if (port.batch_axis != kNone) wide.type.shape[port.batch_axis] = batch;
    std::vector<double> values(static_cast<std::size_t>(wide.type.shape.numel()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = is_float(port.dtype) ? random.normal(i) : std::floor(20 * random.uniform(i));
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    wide.bytes.assign(bytes, bytes + values.size() * sizeof(double));
    arrays.push_back(as_type(wide, port.dtype));
  }
  return arrays;
}

struct RoundTrip {
  std::vector<NamedTensor> before, after;
};

// Statistics of batch normalisation get distinct values, or errors in them would not show.
void stir(Engine& engine) {
  const Philox random(11, 2);
  for (const std::string& name : engine.storage().names(Role::state)) {
    std::vector<float> values(static_cast<std::size_t>(engine.storage().type(name).shape.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(0.5 + random.uniform(i));
    engine.storage().write(name, values.data(), values.size() * sizeof(float));
  }
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

RoundTrip round_trip(const Net& net, std::int64_t batch, std::int64_t written_batch = 0) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "net.onnx").string();
  const auto device = open_device("cpu", 0);
  Engine engine(net, *device, {});
  stir(engine);
  save_onnx(engine, path, written_batch);
  Inference first(engine);
  Engine again(read_onnx(path), *device, {});
  EXPECT_EQ(sorted(again.weight_names()), sorted(engine.weight_names()));
  EXPECT_EQ(again.parameter_count(), engine.parameter_count());
  Inference second(again);
  EXPECT_EQ(second.inputs().size(), first.inputs().size());
  for (std::size_t i = 0; i < first.inputs().size(); ++i)
    EXPECT_EQ(second.inputs()[i].name, first.inputs()[i].name);
  const std::vector<NamedTensor> arrays = random_inputs(first, batch);
  return {first.run(arrays), second.run(arrays)};
}

void expect_same_bits(const RoundTrip& trip) {
  ASSERT_EQ(trip.after.size(), trip.before.size());
  for (std::size_t i = 0; i < trip.before.size(); ++i) {
    EXPECT_EQ(trip.after[i].name, trip.before[i].name);
    const Difference d = compare(trip.after[i], trip.before[i], {0, 0});
    EXPECT_TRUE(d.passed()) << d.mismatch << d.wrong << " of " << d.elements << " differ, by " << d.error;
    EXPECT_EQ(trip.after[i].bytes, trip.before[i].bytes);
  }
}

bool has_attention(const Net& net) {
  return std::ranges::any_of(net.layers, [](const Layer& layer) { return layer.type == "attention"; });
}

std::vector<std::string> networks() {
  std::vector<std::string> list = small_models();
  for (const char* more :
       {"lenet5:activation=tanh,pool=avg", "ece408:term=2019sp", "ece408:term=2020fa",
        "resnet:depth=18,stem=cifar,width=0.125", "mobilenet:version=1,width=0.125,input=33",
        "squeezenet:version=1.1,width=0.5,input=33", "vgg:bn=on,width=0.125,input=32"})
    list.push_back(more);
  return list;
}

class OnnxWriterZoo : public ::testing::TestWithParam<std::string> {};

// Attention is written out by its definition: the same numbers, not the same bits.
TEST_P(OnnxWriterZoo, ComesBackBitForBit) {
  const Net net = find_net(GetParam());
  const RoundTrip trip = round_trip(net, 3);
  if (!has_attention(net)) return expect_same_bits(trip);
  ASSERT_EQ(trip.after.size(), 1u);
  const Difference d = compare(trip.after[0], trip.before[0], {1e-4, 1e-5});
  EXPECT_TRUE(d.passed()) << d.mismatch << d.wrong << " of " << d.elements << " differ, by " << d.error;
}

INSTANTIATE_TEST_SUITE_P(Networks, OnnxWriterZoo, ::testing::ValuesIn(networks()));

Net image_net() { return Net("every", {6, 13, 11}); }

TEST(OnnxWriterLayers, WindowsAndWeights) {
  Net net = image_net();
  net.conv2d("a", {.maps = 4,
                   .kernel = {3, 5},
                   .stride = {2, 1},
                   .dilation = {1, 2},
                   .pad = {1, 0, 2, 3},
                   .groups = 2,
                   .activation = "relu"});
  net.conv2d("b", {.maps = 5, .kernel = 3, .bias = false});
  net.batch_norm("norm", {.epsilon = 0.01, .activation = "tanh"});
  Pool same{.kernel = 3, .stride = 2};
  same.pad.same = "same_upper";
  net.max_pool("upper", same);
  net.avg_pool("mean", {.kernel = 2, .stride = 1, .pad = 1, .ceil_mode = true, .count_include_pad = false});
  net.lrn("lrn", {.size = 3, .alpha = 0.1});
  net.linear("out", {.units = 7, .activation = "sigmoid"});
  expect_same_bits(round_trip(net, 4));
}

TEST(OnnxWriterLayers, FunctionsOfElements) {
  Net net("functions", {24});
  net.relu().leaky_relu("leaky", 0.3).elu("elu", 0.7).gelu("gelu").gelu("smooth", "tanh").hard_swish();
  net.sigmoid().tanh().exp("exp").sqrt("sqrt").clip("clip", 0.5, 1.5).threshold("step", 0.8, -1);
  net.softmax().log_softmax();
  expect_same_bits(round_trip(net, 3));
}

// Each on its own: after another one its input might not show the difference.
TEST(OnnxWriterLayers, EveryFunctionOfOneElement) {
  for (const Operator& op : operators()) {
    if (!op.schema.layer || op.schema.elementwise != 1) continue;
    SCOPED_TRACE(op.schema.name);
    Net net("function", {24});
    net.sigmoid("positive").function(op.schema.name, "f");
    expect_same_bits(round_trip(net, 3));
    if (op.schema.name == "log" || op.schema.name == "sqrt") continue;  // NaN of negative numbers
    Net any("function", {24});
    any.function(op.schema.name, "f");
    expect_same_bits(round_trip(any, 3));
  }
}

TEST(OnnxWriterLayers, ShapesAndSums) {
  Net net = image_net();
  net.pad("pad", {1, 2, 0, 1}).pad("mirror", {0, 1, 1, 0}, "reflect").resize("up", {20, 15}, "bilinear");
  net.resize("near", {9, 8})
      .transpose("turn", {1, 0, 2})
      .reshape("flat", {9, 48})
      .layer_norm("norm", {.axis = 2});
  net.reshape("twice", {2, 216}).concat("joined", {"twice", "twice"}, 1).dropout("drop", 0.5);
  net.add("sum", "joined", "drop")
      .mul("square", "sum", "joined")
      .sub("less", "square", "sum")
      .div("share", "less", "sum");
  expect_same_bits(round_trip(net, 3));
}

TEST(OnnxWriterLayers, GlobalAndAdaptivePools) {
  Net net("pools", {4, 12, 9});
  net.adaptive_avg_pool("mean", {4, 3}).adaptive_max_pool("largest", {2, 3}).global_avg_pool("all");
  expect_same_bits(round_trip(net, 2));
  Net uneven("pools", {4, 12, 9});
  uneven.adaptive_avg_pool("mean", {5, 3});
  expect_rejected([&] { require_onnx(uneven); }, {"'mean'", "adaptive_avg_pool", "12x9", "5x3"});
}

TEST(OnnxWriter, WritesOneBatchAlone) {
  const RoundTrip trip = round_trip(find_net("lenet5"), 2, 2);
  expect_same_bits(trip);
  EXPECT_EQ(trip.after[0].type.shape, (Shape{2, 10}));
}

// An output that is also an input needs a node in the file.
TEST(OnnxWriter, WritesANetworkThatDoesNothing) {
  Net net("nothing", {4});
  net.dropout("drop", 0.5);
  expect_same_bits(round_trip(net, 3));
}

TEST(OnnxWriter, WritesWeightsOfAnotherPrecision) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "net.onnx").string();
  const auto device = open_device("cpu", 0);
  Engine wide(find_net("mlp:hidden=8,input=6,classes=3"), *device, {.precision = DType::f64});
  save_onnx(wide, path);
  Engine narrow(read_onnx(path), *device, {});
  Inference a(wide), b(narrow);
  const std::vector<NamedTensor> arrays = random_inputs(b, 2);
  EXPECT_TRUE(compare(as_type(a.run(arrays)[0], DType::f32), b.run(arrays)[0], {1e-5, 1e-6}).passed());
}

// Writing a read file again gives the same file.
TEST(OnnxWriter, IsTheSameTheSecondTime) {
  const TemporaryFolder folder;
  const std::string one = (folder.path() / "1.onnx").string(), two = (folder.path() / "2.onnx").string();
  const auto device = open_device("cpu", 0);
  Engine engine(find_net("lenet5"), *device, {});
  save_onnx(engine, one);
  Engine again(read_onnx(one), *device, {});
  save_onnx(again, two);
  EXPECT_EQ(again.weight_names(), engine.weight_names());
  Engine third(read_onnx(two), *device, {});
  EXPECT_EQ(third.weight_names(), engine.weight_names());
}

}  // namespace
}  // namespace headroom::testing
