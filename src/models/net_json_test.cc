#include <gtest/gtest.h>

#include "base/testing/bad_input.h"
#include "models/layers.h"
#include "models/zoo.h"

namespace headroom {
namespace {

using Integers = std::vector<std::int64_t>;
using testing::expect_rejected;

void expect_same(const Net& a, const Net& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.input, b.input);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].type, b.layers[i].type);
    EXPECT_EQ(a.layers[i].name, b.layers[i].name);
    EXPECT_EQ(a.layers[i].from, b.layers[i].from);
    EXPECT_EQ(a.layers[i].options, b.layers[i].options) << a.layers[i].name;
  }
}

TEST(NetJson, EveryZooModelComesBackAsItWas) {
  for (const ZooEntry& entry : zoo()) {
    const Net net = find_net(entry.name);
    expect_same(net, parse_net(to_json_text(net), "memory"));
    EXPECT_EQ(to_json_text(net), to_json_text(parse_net(to_json_text(net), "memory")));
  }
}

TEST(NetJson, EveryOptionComesBackAsItWas) {
  Net net("everything", {3, 17, 19});
  net.conv2d("a", {.maps = 6,
                   .kernel = {3, 5},
                   .stride = {2, 1},
                   .dilation = 2,
                   .pad = {1, 2, 3, 4},
                   .groups = 3,
                   .bias = false,
                   .activation = "tanh"});
  Padding same;
  same.same = "same_lower";
  net.conv2d("b", {.maps = 6, .kernel = 3, .pad = same});
  net.max_pool("c", {.kernel = {2, 3}, .stride = 1, .pad = 1, .dilation = {1, 2}, .ceil_mode = true});
  net.avg_pool("d", {.kernel = 2, .pad = 1, .count_include_pad = false});
  net.relu().sigmoid("s").tanh().add("sum", "s", "tanh7").flatten();
  Layer own{"linear", "own", {}, Attrs{{"units", std::int64_t{9}}, {"init", std::string("normal")}}};
  own.options.set("init_scale", 0.125);
  own.options.set("init_index", std::int64_t{3});
  net.append(own);
  net.linear("out", {.units = 4, .bias = false, .activation = "relu"}).softmax();
  expect_same(net, parse_net(to_json_text(net), "memory"));
}

TEST(NetJson, ReadsShortForms) {
  const Net net = parse_net(R"({"name": "n", "input": [1, 8, 8], "comment": "x", "layers": [
    {"type": "conv2d", "maps": 2, "kernel": 3, "pad": "same", "stride": [2, 1]},
    {"type": "conv2d", "name": "q", "maps": 2, "kernel": [3, 1], "pad": [1, 2], "bias": true},
    {"type": "max_pool", "kernel": 2, "pad": "valid"}]})",
                            "memory");
  EXPECT_EQ(net.layers[0].name, "conv2d1");
  EXPECT_EQ(net.layers[0].options.integers("kernel"), (Integers{3, 3}));
  EXPECT_EQ(net.layers[0].options.integers("strides"), (Integers{2, 1}));
  EXPECT_EQ(net.layers[0].options.text("auto_pad"), "same_upper");
  EXPECT_EQ(net.layers[1].options.integers("pads"), (Integers{1, 2, 1, 2}));
  EXPECT_FALSE(net.layers[2].options.has("pads"));
}

std::string with_layer(const std::string& layer) {
  return R"({"input": [1, 8, 8], "layers": [)" + layer + "]}";
}

TEST(NetJson, ErrorsNameFileLayerAndOption) {
  auto rejects = [](const std::string& text, std::initializer_list<std::string_view> parts) {
    SCOPED_TRACE(text);
    expect_rejected([&] { parse_net(text, "my.json"); }, parts);
    expect_rejected([&] { parse_net(text, "my.json"); }, {"my.json"});
  };
  rejects("{", {"JSON"});
  rejects("[]", {"object"});
  rejects(R"({"layers": []})", {"input"});
  rejects(R"({"input": [0], "layers": []})", {"extent of 0"});
  rejects(R"({"input": [1.5], "layers": []})", {"whole"});
  rejects(R"({"input": [8]})", {"layers"});
  rejects(R"({"input": [8], "layers": [], "name": 5})", {"name"});
  rejects(R"({"input": [8], "layers": [], "layer": []})", {"unknown key 'layer'"});
  rejects(with_layer("5"), {"number 1", "type"});
  rejects(with_layer(R"({"type": "linera", "units": 3})"), {"linera"});
  rejects(with_layer(R"({"type": "linear", "name": "fc"})"), {"'fc'", "units"});
  rejects(with_layer(R"({"type": "linear", "name": "fc", "units": 3.5})"), {"'fc'", "units", "whole"});
  rejects(with_layer(R"({"type": "linear", "name": "fc", "units": 3, "unit": 4})"), {"'fc'", "'unit'"});
  rejects(with_layer(R"({"type": "linear", "name": "fc", "units": 3, "bias": 1})"),
          {"'fc'", "true or false"});
  rejects(with_layer(R"({"type": "max_pool", "name": "p", "kernel": [1, 2, 3]})"), {"'p'", "kernel"});
  rejects(with_layer(R"({"type": "max_pool", "name": "p", "kernel": 2, "pad": "some"})"), {"'p'", "some"});
  rejects(with_layer(R"({"type": "relu", "name": "a"}, {"type": "relu", "name": "a"})"),
          {"two layers", "'a'"});
  rejects(with_layer(R"({"type": "relu", "name": "input"})"), {"'input'"});
  rejects(with_layer(R"({"type": "add", "name": "s", "from": ["input"]})"), {"'s'", "reads 2"});
  rejects(with_layer(R"({"type": "relu", "from": "input"})"), {"list of layer names"});
}

Shape shape_after(const Net& net) {
  Graph graph;
  std::vector<std::int64_t> dims = {2};
  dims.insert(dims.end(), net.input.begin(), net.input.end());
  const ValueId x = graph.add_value({.name = "x", .type = {Shape(dims), DType::f32}, .role = Role::input});
  return graph.value(lower(net, graph, x, {})).type.shape;
}

TEST(Lower, GivesTheShapesOfTheLayers) {
  EXPECT_EQ(shape_after(find_net("lenet5")), (Shape{2, 10}));
  Net images("n", {3, 9, 9});
  images.conv2d("c", {.maps = 4, .kernel = 3, .stride = 2}).avg_pool("p", {.kernel = 3, .stride = 1});
  EXPECT_EQ(shape_after(images), (Shape{2, 4, 2, 2}));
  EXPECT_EQ(shape_after(images.flatten()), (Shape{2, 16}));
}

TEST(Lower, ErrorsNameTheLayer) {
  auto net = [] { return Net("n", {1, 8, 8}); };
  expect_rejected([&] { shape_after(net()); }, {"no layers"});
  expect_rejected([&] { shape_after(net().conv2d("c", {.maps = 0, .kernel = 3})); }, {"'c'", "maps is 0"});
  expect_rejected([&] { shape_after(net().conv2d("c", {.maps = 1, .kernel = 9})); }, {"'c'"});
  expect_rejected([&] { shape_after(net().conv2d("c", {.maps = 2, .kernel = 3, .groups = 2})); },
                  {"'c'", "groups"});
  expect_rejected([&] { shape_after(net().flatten("f").conv2d("c", {.maps = 2})); }, {"'c'", "images"});
  expect_rejected([&] { shape_after(net().add("s", "input", "nowhere")); }, {"nowhere"});
  expect_rejected([&] { shape_after(net().linear("l", {.units = 3, .activation = "gulu"})); },
                  {"'l'", "gulu"});
  Net odd = net().linear("l", {.units = 3});
  odd.layers[0].options.set("init", std::string("hee"));
  expect_rejected([&] { shape_after(odd); }, {"'l'", "hee"});
}

TEST(Net, AppendKnowsTheOptionsOfEachType) {
  Net net("n", {1, 8, 8});
  expect_rejected([&] { net.append({"max_pool", "p", {}, {}}); }, {"'p'", "kernel"});
  const Attrs wrong{{"units", std::int64_t{3}}, {"unit", std::int64_t{3}}};
  expect_rejected([&] { net.append({"linear", "l", {}, wrong}); }, {"'l'", "'unit'"});
  EXPECT_TRUE(net.layers.empty());
}

}  // namespace
}  // namespace headroom
