#include <gtest/gtest.h>

#include <set>

#include "base/testing/bad_input.h"
#include "models/layers.h"
#include "ops/operator.h"

namespace headroom {
namespace {

using testing::expect_rejected;

// One layer by each function, in a valid order.
Net every_layer() {
  Net net("all", {4, 16, 16});
  net.conv2d("a", {.maps = 4, .kernel = 3, .pad = 1, .init = "normal", .init_scale = 0.02})
      .batch_norm("b")
      .add("sum", "a", "b")
      .sub("difference", "sum", "a")
      .mul("product", "sum", "difference")
      .div("quotient", "product", "sum")
      .lrn("lrn", {.size = 3})
      .local_contrast_norm("contrast", 3)
      .layer_norm("layer_norm", {.axis = 3})
      .dropout("dropout", 0.25)
      .relu()
      .leaky_relu("leaky", 0.1)
      .elu()
      .gelu("gelu", "tanh")
      .hard_swish()
      .sigmoid()
      .tanh()
      .exp()
      .sqrt()
      .clip("clip", 0, 6)
      .threshold("threshold", 0, 1e-6)
      .pad("pad", {0, 1, 2, 1}, "edge")
      .resize("resize", {16, 12}, "bilinear")
      .max_pool("max", {.kernel = 2})
      .avg_pool("avg", {.kernel = 2, .count_include_pad = false})
      .adaptive_avg_pool("adaptive", {3, 2})
      .adaptive_max_pool("adaptive_max", 2)
      .transpose("transpose", {1, 2, 0})
      .reshape("reshape", {4, 4, 1})
      .global_max_pool("most")
      .reads("transpose")
      .global_avg_pool("mean")
      .reads("reshape")
      .flatten("flat")
      .flatten("flat_most")
      .reads("most")
      .concat("both", {"flat", "flat_most"})
      .linear("out", {.units = 3})
      .softmax()
      .log_softmax("last");
  for (const Operator& op : operators())  // those without a function of their own
    if (op.schema.layer && op.schema.elementwise == 1) net.function(op.schema.name, "any_" + op.schema.name);
  return net;
}

Net every_sequence_layer() {
  Net net("sequences", {6});
  net.embedding("table", 11, 8)
      .positions()
      .class_token("first")
      .attention("attention",
                 {.heads = 2, .causal = true, .bias = false, .init = "normal", .init_scale = 0.02})
      .take_token("last", -1)
      .lstm("lstm", {.hidden = 5, .layers = 2, .bidirectional = true})
      .reads("attention")
      .gru("gru", {.hidden = 4, .bias = false, .reset_after = false})
      .rnn("rnn", {.hidden = 8, .output = "last", .activation = "relu", .init_scale = 0.1})
      .add("states", "last", "rnn")
      .mean_tokens("mean")
      .reads("attention")
      .add("sum", "states", "mean")
      .unembedding("scores", "table")
      .reads("attention")
      .mean_tokens("mean_scores")
      .concat("out", {"sum", "mean_scores"});
  return net;
}

Shape output_of(const Net& net) {
  Graph graph;
  std::vector<std::int64_t> batch = {2};
  batch.insert(batch.end(), net.input.begin(), net.input.end());
  const ValueId images = graph.add_value({.name = "images",
                                          .type = {Shape(batch), reads_tokens(net) ? DType::i32 : DType::f32},
                                          .role = Role::input,
                                          .producer = kNone,
                                          .init = {},
                                          .layer = {}});
  return graph.value(lower(net, graph, images, {.training = true})).type.shape;
}

TEST(NetBuilder, HasAFunctionForEveryLayerType) {
  std::set<std::string> built, known;
  for (const Net& net : {every_layer(), every_sequence_layer()})
    for (const Layer& layer : net.layers) built.insert(layer.type);
  for (const LayerType& type : layer_types()) known.emplace(type.name);
  EXPECT_EQ(built, known);
}

TEST(NetBuilder, LayersBecomeNodesAndJson) {
  const Net net = every_layer();
  EXPECT_EQ(output_of(net), (Shape{2, 3}));
  const std::string text = to_json_text(net);
  EXPECT_EQ(to_json_text(parse_net(text, "memory")), text);
}

TEST(NetBuilder, SequencesBecomeNodesAndJson) {
  const Net net = every_sequence_layer();
  EXPECT_TRUE(reads_tokens(net));
  EXPECT_FALSE(reads_tokens(every_layer()));
  EXPECT_EQ(output_of(net), (Shape{2, 8 + 11}));
  const std::string text = to_json_text(net);
  EXPECT_EQ(to_json_text(parse_net(text, "memory")), text);
  EXPECT_EQ(net.layers[3].options.str(), "bias=0 causal=1 heads=2 init=normal init_scale=0.02");
}

TEST(NetBuilder, SequencesThatDoNotFit) {
  auto tokens = [] { return Net("text", {6}).embedding("table", 11, 8); };
  expect_rejected([&] { output_of(tokens().attention("a", {.heads = 3})); }, {"'a'", "8", "3 heads"});
  expect_rejected([&] { output_of(tokens().take_token("t", 6)); }, {"'t'", "no token 6"});
  expect_rejected([&] { output_of(tokens().unembedding("u", "tabel")); }, {"'u'", "'tabel' has no table"});
  expect_rejected([&] { output_of(tokens().linear("wide", {.units = 9}).unembedding("u", "table")); },
                  {"11x8", "9"});
  expect_rejected([] { output_of(Net("image", {4, 16, 16}).positions("p")); }, {"'p'", "sequences"});
  expect_rejected([] { output_of(Net("image", {6}).relu("r").embedding("e", 5, 3)); }, {"'e'", "tokens"});
}

TEST(NetBuilder, RecurrentLayersGiveSequencesOrTheirLastStates) {
  auto tokens = [] { return Net("text", {6}).embedding("table", 11, 8); };
  EXPECT_EQ(output_of(tokens().lstm("r", {.hidden = 5})), (Shape{2, 6, 5}));
  EXPECT_EQ(output_of(tokens().gru("r", {.hidden = 5, .layers = 3, .bidirectional = true})),
            (Shape{2, 6, 10}));
  EXPECT_EQ(output_of(tokens().rnn("r", {.hidden = 5, .bidirectional = true, .output = "last"})),
            (Shape{2, 10}));
  expect_rejected([&] { output_of(tokens().lstm("r", {})); }, {"'r'", "hidden is 0"});
  expect_rejected([&] { output_of(tokens().lstm("r", {.hidden = 5, .output = "all"})); }, {"'r'", "'all'"});
  expect_rejected([&] { output_of(tokens().rnn("r", {.hidden = 5, .activation = "gelu"})); },
                  {"'r'", "'gelu'"});
  expect_rejected([&] { output_of(tokens().lstm("r", {.hidden = 5, .activation = "relu"})); },
                  {"activation"});
  expect_rejected([&] { output_of(tokens().gru("r", {.hidden = 5, .layers = 65})); }, {"layers is 65", "64"});
  expect_rejected([&] { output_of(tokens().gru("r", {.hidden = 5, .init_scale = -1})); }, {"init_scale"});
  expect_rejected([] { output_of(Net("image", {4, 16, 16}).gru("r", {.hidden = 5})); }, {"'r'", "sequences"});
}

// Each row of a sequence goes through a linear layer; an image is flattened.
TEST(NetBuilder, LinearOfASequence) {
  EXPECT_EQ(output_of(Net("text", {6}).embedding("table", 11, 8).linear("l", {.units = 5})),
            (Shape{2, 6, 5}));
  EXPECT_EQ(output_of(Net("image", {4, 16, 16}).linear("l", {.units = 5})), (Shape{2, 5}));
}

TEST(NetBuilder, OptionsArriveUnderTheirNames) {
  const Net net = every_layer();
  auto options = [&](const std::string& name) {
    for (const Layer& layer : net.layers)
      if (layer.name == name) return layer.options.str();
    return std::string("no such layer");
  };
  EXPECT_EQ(options("a"), "init=normal init_scale=0.02 kernel=[3,3] maps=4 pads=[1,1,1,1]");
  EXPECT_EQ(options("pad"), "mode=edge pads=[0,1,2,1]");
  EXPECT_EQ(options("resize"), "mode=bilinear size=[16,12]");
  EXPECT_EQ(options("clip"), "max=6 min=0");
  EXPECT_EQ(options("threshold"), "threshold=0 value=1e-06");
  EXPECT_EQ(options("adaptive_max"), "output=[2,2]");
  EXPECT_EQ(options("transpose"), "axes=[1,2,0]");
}

TEST(NetBuilder, ReadsAnEarlierLayer) {
  Net net("branch", {4, 16, 16});
  expect_rejected([&] { net.reads("input"); }, {"has no layer yet"});
  net.relu("a").relu("b").reads("input");
  EXPECT_EQ(net.layers.back().from, std::vector<std::string>{"input"});
  net.add("c", "a", "b");
  expect_rejected([&] { net.reads("a"); }, {"'c'", "were set"});
  net.relu("d").reads("nobody");
  expect_rejected([&] { output_of(net); }, {"'d' reads 'nobody'"});
}

}  // namespace
}  // namespace headroom
