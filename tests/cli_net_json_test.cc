// Broken network files of every kind. `predict` reads and lowers a network without running it. It refuses
// each file, and the message names the file, the layer and the option.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliNetJson : ProgramTest {
  void expect_broken(std::string_view text, const Words& parts) const {
    put("net.json", text);
    SCOPED_TRACE(text.substr(0, 200));
    expect_refused({"predict", "net.json", "--machine", "h200"}, parts);
  }
  // One layer between an image and ten classes.
  void expect_broken_layer(const std::string& layer, const Words& parts) const {
    expect_broken(R"({"input": [1, 8, 8], "layers": [)" + layer + R"(, {"type": "linear", "units": 10}]})",
                  parts);
  }
};

TEST_F(CliNetJson, IsNoJson) {
  expect_broken("", {"net.json is empty"});
  expect_broken("layers:\n  - conv2d\n", {"net.json is not valid JSON", "line 1"});
  expect_broken("{\n  \"input\": [1, 8, 8],\n  \"layers\": [}", {"net.json is not valid JSON", "line 3"});
  expect_broken("{\"name\": \"\xff\"}", {"net.json is not valid JSON"});
  expect_broken(std::string(1000, '\0'), {"net.json is not valid JSON"});
  expect_broken("[1, 2]", {"net.json does not hold a JSON object"});
  expect_broken("null", {"net.json does not hold a JSON object"});
  expect_refused({"predict", "missing.json"}, {"cannot read missing.json"});
  expect_refused({"predict", "."}, {"folder"});
  expect_refused({"predict", "net.json:hidden=3"}, {"net.json", "no options"});
}

TEST_F(CliNetJson, IsDeepJunk) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const Words refusal = {"net.json is nested deeper than 64 levels"};
  expect_broken(deep, refusal);
  expect_broken(std::string(100'000, '['), refusal);
  expect_broken(R"({"input": [1, 8, 8], "layers": )" + deep + "}", refusal);
  expect_broken(R"({"input": )" + deep + R"(, "layers": []})", refusal);
  expect_broken_layer(R"({"type": "linear", "units": )" + deep + "}", refusal);
  expect_broken_layer(R"({"type": "relu", "from": [)" + deep + "]}", refusal);
}

TEST_F(CliNetJson, LacksOrMisspellsKeys) {
  expect_broken("{}", {"\"input\""});
  expect_broken(R"({"input": [1, 8, 8]})", {"\"layers\" must be a list"});
  expect_broken(R"({"input": [1, 8, 8], "layers": []})", {"no layers"});
  expect_broken(R"({"input": [1, 8, 8], "layer": []})", {"unknown key 'layer'", "did you mean 'layers'"});
  expect_broken(R"({"input": [1, 8, 8], "layers": {}})", {"\"layers\" must be a list"});
  expect_broken(R"({"input": [1, 8, 8], "layers": [7]})", {"number 1", "\"type\""});
  expect_broken(R"({"input": [1, 8, 8], "layers": [{"name": "a"}]})", {"number 1", "\"type\""});
  expect_broken(R"({"name": 3, "input": [1, 8, 8], "layers": []})", {"\"name\" must be a word"});
  expect_broken_layer(R"({"type": "conv2", "name": "c"})",
                      {"unknown layer type 'conv2'", "did you mean 'conv2d'"});
  expect_broken_layer(R"({"type": "conv2d", "name": "c", "kernel": 3})",
                      {"net.json: layer 'c'", "needs \"maps\""});
  expect_broken_layer(R"({"type": "linear", "name": "f", "unit": 3})",
                      {"'f'", "no option 'unit'", "'units'"});
  expect_broken_layer(R"({"type": "relu", "kernel": 3})", {"relu has no option 'kernel'"});
}

TEST_F(CliNetJson, HoldsValuesOfTheWrongType) {
  expect_broken(R"({"input": "1x8x8", "layers": []})", {"\"input\""});
  expect_broken(R"({"input": [1, 8.5, 8], "layers": []})", {"whole number"});
  expect_broken(R"({"input": [1, 1, 8, 8], "layers": []})", {"\"input\""});
  expect_broken_layer(R"({"type": 3})", {"\"type\""});
  expect_broken_layer(R"({"type": "relu", "name": 3})", {"name must be a word"});
  expect_broken_layer(R"({"type": "linear", "name": "f", "units": "84"})",
                      {"'f'", "units must be a whole number"});
  expect_broken_layer(R"({"type": "linear", "name": "f", "units": 8.0})",
                      {"'f'", "units must be a whole number"});
  expect_broken_layer(R"({"type": "linear", "units": null})", {"'linear1'", "units must be a whole number"});
  expect_broken_layer(R"({"type": "linear", "units": 8, "bias": 1})", {"bias must be true or false"});
  expect_broken_layer(R"({"type": "linear", "units": 8, "activation": 1})", {"activation must be a word"});
  expect_broken_layer(R"({"type": "linear", "units": 8, "activation": "rleu"})",
                      {"'rleu'", "did you mean 'relu'"});
  expect_broken_layer(R"({"type": "linear", "units": 8, "activation": "conv2d"})",
                      {"unknown activation 'conv2d'"});
  expect_broken_layer(R"({"type": "linear", "units": 8, "init": "xaver"})",
                      {"'xaver'", "did you mean 'xavier'"});
  expect_broken_layer(R"({"type": "linear", "units": 8, "init": "normal", "init_scale": "big"})",
                      {"init_scale"});
  expect_broken_layer(R"({"type": "max_pool", "kernel": [2, 2, 2]})", {"kernel", "2 of them"});
  expect_broken_layer(R"({"type": "max_pool", "kernel": 2, "pad": "smae"})", {"pad is 'smae'"});
  expect_broken_layer(R"({"type": "max_pool", "kernel": 2, "pad": [1, 2, 3]})", {"pad", "4 of them"});
  expect_broken_layer(R"({"type": "relu", "from": "input"})", {"from must be a list of layer names"});
  expect_broken_layer(R"({"type": "relu", "from": [1]})", {"from must be a list of layer names"});
}

TEST_F(CliNetJson, NamesLayersWrongly) {
  expect_broken_layer(R"({"type": "relu", "name": "a"}, {"type": "relu", "name": "a"})",
                      {"two layers are called 'a'"});
  expect_broken_layer(R"({"type": "relu", "name": "input"})", {"called 'input'"});
  expect_broken_layer(R"({"type": "relu", "name": "loss"})", {"called 'loss'"});
  expect_broken_layer(R"({"type": "relu", "name": "a1"}, {"type": "relu", "name": "b", "from": ["a2"]})",
                      {"layer 'b' reads 'a2'", "did you mean 'a1'"});
  expect_broken_layer(R"({"type": "relu", "name": "b", "from": ["b"]})", {"layer 'b' reads 'b'"});
  expect_broken_layer(R"({"type": "add", "name": "s"})", {"'s'", "reads 2 layers", "\"from\""});
  expect_broken_layer(R"({"type": "relu", "name": "r", "from": ["input", "input"]})",
                      {"'r'", "reads 1 layer"});
  expect_broken_layer(R"({"type": "relu", "name": "a"}, {"type": "relu", "name": "b", "from": ["input"]})",
                      {"layer 'a' is not used", "no other layer reads it"});
}

TEST_F(CliNetJson, HoldsNumbersOutOfRange) {
  for (const char* extent : {"0", "-8"})
    expect_broken(
        fmt::format(R"({{"input": [1, {}, 8], "layers": [{{"type": "linear", "units": 10}}]}})", extent),
        {"net.json", extent});
  for (const char* huge : {"1e30", "2000000000", "18446744073709551615", "99999999999999999999999"}) {
    SCOPED_TRACE(huge);
    expect_broken_layer(fmt::format(R"({{"type": "linear", "name": "f", "units": {}}})", huge),
                        {"'f'", "units"});
    expect_broken(fmt::format(R"({{"input": [{}], "layers": [{{"type": "linear", "units": 10}}]}})", huge),
                  {"input"});
  }
  expect_broken_layer(R"({"type": "linear", "name": "f", "units": 1e999})", {"net.json"});
  for (const char* few : {"0", "-84"}) {
    expect_broken_layer(fmt::format(R"({{"type": "linear", "name": "f", "units": {}}})", few),
                        {"'f'", few, "at least 1"});
    expect_broken_layer(fmt::format(R"({{"type": "conv2d", "name": "c", "maps": {}, "kernel": 3}})", few),
                        {"'c'", few, "at least 1"});
    for (const char* option : {"kernel", "stride", "dilation", "groups"}) {
      const std::string other = std::string(option) == "kernel" ? "" : R"("kernel": 3, )";
      expect_broken_layer(
          fmt::format(R"({{"type": "conv2d", "name": "c", "maps": 4, {}"{}": {}}})", other, option, few),
          {"'c'", few});
    }
  }
  expect_broken_layer(R"({"type": "max_pool", "name": "p", "kernel": 0})", {"'p'", "0"});
  expect_broken_layer(R"({"type": "max_pool", "name": "p", "kernel": 2, "pad": -1})", {"'p'", "-1"});
  expect_broken_layer(
      R"({"type": "linear", "name": "f", "units": 1000000000}, {"type": "linear", "units": 1000000000})",
      {"1000000000x1000000000", "numbers"});
}

TEST_F(CliNetJson, HasLayersThatDoNotFit) {
  expect_broken_layer(R"({"type": "conv2d", "name": "c", "maps": 4, "kernel": 9})",
                      {"layer 'c'", "window of 9 does not fit an input of 8", "smaller window"});
  expect_broken_layer(R"({"type": "avg_pool", "name": "p", "kernel": 9})", {"layer 'p'", "window of 9"});
  expect_broken_layer(R"({"type": "max_pool", "name": "p", "kernel": 2, "pad": 2})",
                      {"layer 'p'", "padding"});
  expect_broken_layer(R"({"type": "conv2d", "name": "c", "maps": 4, "kernel": 3, "groups": 3})",
                      {"layer 'c'", "groups"});
  expect_broken_layer(R"({"type": "flatten"}, {"type": "conv2d", "name": "c", "maps": 4, "kernel": 3})",
                      {"layer 'c'", "needs images"});
  expect_broken_layer(R"({"type": "flatten"}, {"type": "max_pool", "name": "p", "kernel": 2})",
                      {"layer 'p'"});
  expect_broken_layer(R"({"type": "conv2d", "name": "c", "maps": 4, "kernel": 3},
                         {"type": "add", "name": "s", "from": ["input", "c"]})",
                      {"layer 's': add takes layers of equal shapes, not 'input' of 1x8x8 and 'c' of 4x6x6"});
  expect_broken(R"({"input": [1, 8, 8], "layers": [{"type": "conv2d", "maps": 10, "kernel": 3}]})",
                {"ends in 10x6x6 per image", "linear layer"});
}

TEST_F(CliNetJson, WithoutAnythingToLearnIsRefusedByTrain) {
  const Words train = {"train", "net.json", "--train-size", "64", "--test-size", "32"};
  put("net.json", R"({"input": [784], "layers": [{"type": "linear", "units": 3}]})");
  expect_refused(train, {"3 classes", "has 10"});
  put("net.json", R"({"input": [1, 28, 28], "layers": [
      {"type": "max_pool", "kernel": [28, 10], "stride": [28, 2]}, {"type": "flatten"}]})");
  expect_refused(train, {"nothing to learn"});
}

TEST_F(CliNetJson, ThatIsSoundIsTaken) {
  put("net.json",
      R"({"name": "tiny", "comment": "a skip over one convolution", "input": [1, 12, 12], "layers": [
      {"type": "conv2d", "name": "a", "maps": 4, "kernel": 3, "pad": "same", "activation": "relu"},
      {"type": "conv2d", "name": "b", "maps": 4, "kernel": [3, 3], "pad": [1, 1], "groups": 2, "bias": false},
      {"type": "add", "name": "sum", "from": ["a", "b"]}, {"type": "tanh"},
      {"type": "avg_pool", "kernel": 3, "stride": 2, "ceil_mode": true, "count_include_pad": false},
      {"type": "linear", "name": "out", "units": 10, "init": "normal", "init_scale": 0.05}]})");
  const Json predicted = succeed_json({"predict", "net.json", "--machine", "h200"});
  EXPECT_EQ(predicted.at("model"), "tiny");
  const Json trained =
      succeed_json({"train", "net.json", "--train-size", "64", "--test-size", "32", "--batch", "20"});
  EXPECT_EQ(trained.at("model"), "tiny");
  EXPECT_EQ(trained.at("parameters"), 4 * 9 + 4 + 4 * 2 * 9 + (4 * 6 * 6 * 10 + 10));
}

}  // namespace
}  // namespace headroom::testing
