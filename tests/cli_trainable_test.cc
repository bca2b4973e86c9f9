// Which values training changes, as a user sees it: the list, --freeze, and files that once trained the wrong
// values.
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/safetensors.h"
#include "data/tensor_values.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

std::filesystem::path data_folder() {
  if (const char* set = std::getenv("HEADROOM_DATA")) return set;
  return std::filesystem::path(HEADROOM_SOURCE_DIR) / ".." / "shared" / "data";
}

struct CliTrainable : ProgramTest {
  static Words train(const std::string& model, const Words& more = {}) {
    return with({"train", model, "--train-size", "320", "--test-size", "16", "--batch", "16", "--seed", "3"},
                more);
  }
  std::map<std::string, std::vector<std::byte>> weights(const std::string& name) const {
    std::map<std::string, std::vector<std::byte>> all;
    for (const NamedTensor& tensor : read_safetensors(file(name)).tensors) all[tensor.name] = tensor.bytes;
    return all;
  }
  static std::string state_of(const Json& list, const std::string& name) {
    for (const Json& row : list.at("tensors"))
      if (row.at("name") == name)
        return row.at("trained").get<bool>() ? "trained" : row.at("reason").get<std::string>();
    return "absent";
  }
  // Bits before the first step and after the last one.
  void expect_moved(const Words& words, const std::set<std::string>& still) const {
    succeed(with(words, {"--epochs", "1", "--lr", "1e-30", "--save", "a.st"}));
    succeed(with(words, {"--epochs", "1", "--lr", "0.01", "--save", "b.st"}));
    const auto before = weights("a.st"), after = weights("b.st");
    for (const auto& [name, bytes] : before) EXPECT_EQ(after.at(name) == bytes, still.contains(name)) << name;
  }
};

TEST_F(CliTrainable, ListsWhatIsTrained) {
  const Json all = succeed_json({"model", "show", "--trainable", "resnet:width=0.125,input=33,classes=10"});
  EXPECT_EQ(all.at("trained"), all.at("parameters"));
  const Json json =
      succeed_json({"model", "show", "--trainable", "lenet5", "--freeze", "C*.weight,out.bias"});
  EXPECT_EQ(json.at("parameters"), 61706);
  EXPECT_EQ(json.at("trained"), 61706 - 150 - 2400 - 48000 - 10);
  EXPECT_EQ(state_of(json, "C1.weight"), "frozen");
  EXPECT_EQ(state_of(json, "C1.bias"), "trained");
  EXPECT_EQ(state_of(json, "out.bias"), "frozen");
  const std::string text = succeed({"model", "show", "--trainable", "lenet5", "--freeze", "C1.*"}).out;
  for (const char* part : {"C1.weight", "6x1x5x5", "150", "no: frozen", "yes", "61,706", "61,550 trained"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(CliTrainable, FrozenParametersKeepTheirBits) {
  expect_moved(
      train("lenet5", {"--freeze", "C*", "--freeze", "F6.weight,F6.bias", "--l2", "0.01"}),
      {"C1.weight", "C1.bias", "C3.weight", "C3.bias", "C5.weight", "C5.bias", "F6.weight", "F6.bias"});
}

TEST_F(CliTrainable, FrozenStatisticsKeepTheirBits) {
  const std::string net = R"({"name": "n", "input": [1, 28, 28], "layers": [
    {"type": "conv2d", "name": "c", "maps": 4, "kernel": 5, "stride": 2},
    {"type": "batch_norm", "name": "bn"},
    {"type": "linear", "name": "out", "units": 10}]})";
  put("net.json", net);
  for (const char* optimizer : {"sgd:momentum=0.9", "adamw"}) {
    const Words words =
        train("net.json", {"--freeze", "bn.*", "--optimizer", optimizer, "--lr", "0.01", "--l2", "0.1"});
    succeed(with(words, {"--epochs", "2", "--save", "b.st"}));
    for (const auto& [name, values] : std::map<std::string, float>{
             {"bn.running_mean", 0}, {"bn.running_var", 1}, {"bn.weight", 1}, {"bn.bias", 0}}) {
      const std::vector<float> wanted(4, values);
      const auto* bytes = reinterpret_cast<const std::byte*>(wanted.data());
      EXPECT_EQ(weights("b.st").at(name), std::vector<std::byte>(bytes, bytes + 16)) << name;
    }
  }
  expect_refused(train("net.json", {"--freeze", "bn.running_mean"}),
                 {"bn.running_mean", "bn.running_var", "--freeze"});
}

TEST_F(CliTrainable, APatternMustMatch) {
  expect_refused(train("lenet5", {"--freeze", "C2*"}),
                 {"--freeze", "'C2*'", "matches no parameter", "near names", "C1.weight"});
  expect_refused({"model", "show", "--trainable", "lenet5", "--freeze", "F7.weight"},
                 {"'F7.weight'", "F6.weight"});
  expect_refused(train("lenet5", {"--freeze", "*"}), {"nothing is left to train"});
  expect_refused(train("lenet5", {"--freeze", "C1*,"}), {"empty pattern"});
  expect_refused({"model", "show", "lenet5", "--freeze", "C1*"}, {"--trainable"});
}

TEST_F(CliTrainable, AFrozenRunCanBeResumed) {
  const Words words = train("lenet5", {"--freeze", "C1*", "--optimizer", "adam", "--epochs", "2"});
  succeed(with(words, {"--save", "whole.st"}));
  const Words kept = {"--checkpoint-dir", "run", "--checkpoint-every", "5", "--resume", "auto"};
  succeed(with(train("lenet5", {"--freeze", "C1*", "--optimizer", "adam", "--epochs", "1"}), kept));
  succeed(with(with(words, kept), {"--save", "parts.st"}));
  EXPECT_EQ(weights("whole.st"), weights("parts.st"));
  const Outcome other = run(with(train("lenet5", {"--optimizer", "adam", "--epochs", "3"}), kept));
  EXPECT_EQ(other.code, 2) << other.err;
  EXPECT_NE(other.err.find("freeze=C1*"), std::string::npos) << other.err;
}

// Our own networks come back with the parameters they were written with.
TEST_F(CliTrainable, ExportsKeepTheirParameters) {
  for (const char* model :
       {"vit:width=48,depth=2,patch=8,input=32,classes=10", "lenet5",
        "gpt2:size=tiny,width=32,depth=2,context=16,vocab=64", "mobilenet:width=0.125,input=33,classes=10"}) {
    SCOPED_TRACE(model);
    succeed({"model", "export", model, "-o", "net.onnx"});
    const Json own = succeed_json({"model", "show", "--trainable", model}),
               read = succeed_json({"model", "show", "--trainable", "net.onnx"});
    EXPECT_EQ(read.at("parameters"), own.at("parameters"));
    for (const Json& row : own.at("tensors")) EXPECT_NE(state_of(read, row.at("name")), "absent") << row;
  }
}

// Files that once trained the wrong values. They are not part of the project.
struct OnnxTrainedSet : CliTrainable {
  void SetUp() override {
    if (!std::filesystem::is_directory(folder_of_files()))
      GTEST_SKIP() << "no folder " << folder_of_files().string() << "; set HEADROOM_DATA";
  }
  static std::filesystem::path folder_of_files() { return data_folder() / "onnx" / "defects"; }
  Json list_of(const std::string& name) const {
    return succeed_json({"model", "show", "--trainable", (folder_of_files() / name).string()});
  }
  Words train_file(const std::string& name) const {
    return train((folder_of_files() / name).string(), {"--optimizer", "sgd"});
  }
};

TEST_F(OnnxTrainedSet, MasksStay) {
  EXPECT_EQ(state_of(list_of("own_causal_export.onnx"), "at.attention.numbers"), "a mask");
  EXPECT_EQ(state_of(list_of("train_inf_mask.onnx"), "mask"), "a mask");
  for (const char* name : {"own_causal_export.onnx", "train_inf_mask.onnx"})
    expect_moved(train_file(name), {});
}

TEST_F(OnnxTrainedSet, LearnedValuesMove) {
  for (const auto& [name, learned] :
       std::map<std::string, std::string>{{"train_frozen_class_token.onnx", "cls"},
                                          {"train_frozen_positions.onnx", "table"},
                                          {"train_constant_node_bias.onnx", "bias"}}) {
    EXPECT_EQ(state_of(list_of(name), learned), "trained");
    expect_moved(train_file(name), {});
    EXPECT_TRUE(weights("b.st").contains(learned)) << name;
  }
}

TEST_F(OnnxTrainedSet, TiedWeightsStayTied) {
  expect_moved(train_file("train_untied.onnx"), {});
  EXPECT_EQ(weights("b.st").size(), 2u);  // A and W
}

TEST_F(OnnxTrainedSet, ConstantsStay) {
  const Json list = list_of("train_moves_constants_init_varied.onnx");
  for (const char* name : {"mean", "std"})
    EXPECT_EQ(state_of(list, name), "a constant that normalises the input");
  expect_moved(train_file("train_moves_constants_init_varied.onnx"), {});
  EXPECT_EQ(weights("b.st").size(), 1u);
}

TEST_F(OnnxTrainedSet, OwnExportsHaveTheirParameters) {
  EXPECT_EQ(list_of("own_vit_export.onnx").at("parameters"), 15274);
}

}  // namespace
}  // namespace headroom::testing
