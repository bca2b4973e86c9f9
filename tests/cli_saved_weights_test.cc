// Weights know their network: a file of weights gives the numbers it was trained for, or is refused.
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/npy.h"
#include "data/safetensors.h"
#include "data/tensor_values.h"
#include "support/program.h"
#include "support/small_data.h"

namespace headroom::testing {
namespace {

struct CliSavedWeights : ProgramTest {
  static Words train(const std::string& model, const Words& more = {}) {
    return with(
        {"train", model, "--train-size", "640", "--test-size", "100", "--epochs", "1", "--batch", "32"},
        more);
  }
  Json eval(const std::string& model, const std::string& weights, const Words& more = {}) const {
    return succeed_json(with({"eval", model, "--weights", weights, "--test-size", "100"}, more));
  }
  void expect_said(const std::string& text, const Words& parts) const {
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
  }
  // A rate that grows too large: with most seeds the last epoch is worse than one before.
  static Words worse_in_the_end(int seed, const Words& more) {
    const Words words = {"--lr", "1", "--warmup", "6", "--momentum", "0", "--seed", std::to_string(seed)};
    return with(train_for("6", "lenet5:activation=tanh", words), more);
  }
  static double top_accuracy(const Json& training) {
    double top = 0;
    for (const Json& epoch : training.at("epochs"))
      top = std::max(top, epoch.at("accuracy").at("test").get<double>());
    return top;
  }
  static Words train_for(const std::string& epochs, const std::string& model, const Words& more) {
    return with(
        {"train", model, "--train-size", "640", "--test-size", "100", "--batch", "32", "--epochs", epochs},
        more);
  }
  // The same file as another program would write it: without metadata, changed by `edit`.
  template <class Edit>
  void rewrite(const std::string& from, const std::string& to, Edit&& edit) const {
    TensorFile tensors = read_safetensors(file(from));
    tensors.metadata = {{"format", "pt"}};
    edit(tensors);
    write_safetensors(file(to), tensors);
  }
  // `classes` folders of pictures are not at hand; files named like MNIST's with fewer labels are.
  std::string digits(int classes) const {
    Dataset set = make_glyphs({.train = 320, .test = 100});
    for (Split* split : {&set.train, &set.test})
      for (auto& label : split->labels) label = static_cast<std::uint8_t>(label % classes);
    for (const auto& [name, bytes] : idx_files(set)) put(fmt::format("digits{}/{}", classes, name), bytes);
    return fmt::format("idx:digits{}", classes);
  }
};

TEST_F(CliSavedWeights, TheOptionsOfTheModelComeFromTheFile) {
  const Json trained = succeed_json(train("lenet5:activation=tanh,pool=avg", {"--save", "w"}));
  const double wanted = trained.at("accuracy").at("test");
  EXPECT_EQ(eval("lenet5:activation=tanh,pool=avg", "w").at("accuracy").at("test"), wanted);
  const Outcome adopted = succeed({"eval", "lenet5", "--weights", "w", "--test-size", "100"});
  expect_said(adopted.err, {"w was saved from lenet5:", "activation=tanh", "pool=avg"});
  EXPECT_EQ(eval("lenet5", "w").at("accuracy").at("test"), wanted);
  EXPECT_EQ(eval("lenet5:pool=avg", "w").at("accuracy").at("test"), wanted);
  EXPECT_EQ(succeed({"eval", "lenet5:activation=tanh,pool=avg", "--weights", "w"}).err, "")
      << "nothing to say";
}

TEST_F(CliSavedWeights, AnOptionThatContradictsTheFileIsRefused) {
  succeed(train("lenet5:activation=tanh", {"--save", "w"}));
  for (const char* verb : {"eval", "train"})
    expect_refused({verb, "lenet5:activation=relu", "--weights", "w"},
                   {"w holds the weights of another network", "'C1'", "tanh", "relu", "lenet5:"});
  expect_refused({"eval", "lenet5:pool=avg", "--weights", "w"}, {"another network", "'S2'"});
}

TEST_F(CliSavedWeights, ANetworkFromAFileIsComparedWithTheStoredOne) {
  const std::string net = R"({"name": "n", "input": [1, 28, 28], "layers": [
      {"type": "linear", "name": "h", "units": 16, "activation": "ACT", "init": "INIT"},
      {"type": "dropout", "name": "d", "rate": 0.1},
      {"type": "linear", "name": "out", "units": 10}]})";
  auto variant = [&](const std::string& activation, const std::string& init) {
    std::string text = net;
    text.replace(text.find("ACT"), 3, activation);
    return text.replace(text.find("INIT"), 4, init);
  };
  put("tanh.json", variant("tanh", "xavier"));
  put("relu.json", variant("relu", "xavier"));
  put("again.json", variant("tanh", "he"));
  const Json trained = succeed_json(train("tanh.json", {"--save", "w"}));
  expect_refused({"eval", "relu.json", "--weights", "w"}, {"another network", "'h'", "tanh", "relu"});
  EXPECT_EQ(eval("again.json", "w").at("accuracy"), Json({{"test", trained.at("accuracy").at("test")}}))
      << "initial weights do not matter any more";
}

// The data decides channels, size and classes in training; run and export have no data.
TEST_F(CliSavedWeights, RunAndExportTakeTheNetworkThatTheDataDecided) {
  const std::string model = "resnet:depth=18,stem=cifar,width=0.125";
  succeed({"train", model, "--train-size", "64", "--test-size", "32", "--epochs", "1", "--batch", "32",
           "--image-size", "28", "--save", "w"});
  NamedTensor x{"x", {{2, 1, 28, 28}, DType::f32}, {}};
  x.bytes.resize(static_cast<std::size_t>(x.type.bytes()));
  write_npy(file("x.npy"), x);
  const Json run = succeed_json({"run", model, "--weights", "w", "--input", "x.npy"});
  EXPECT_EQ(run.at("outputs").at(0).at("shape"), Json({2, 10}));
  succeed({"model", "export", "resnet", "--weights", "w", "-o", "w.onnx"});
  const Json exported = succeed_json({"run", "w.onnx", "--input", "x.npy"});
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(exported.at("outputs").at(0).at("values").at(i).get<double>(),
                run.at("outputs").at(0).at("values").at(i).get<double>(), 1e-4);
}

TEST_F(CliSavedWeights, FilesOfOtherProgramsStillLoad) {
  const Json trained = succeed_json(train("mlp:hidden=8", {"--save", "w"}));
  rewrite("w", "pt", [](TensorFile& f) {
    NamedTensor counter{"bn.num_batches_tracked", {Shape(std::vector<std::int64_t>{}), DType::i64}, {}};
    counter.bytes.resize(8);
    f.tensors.push_back(counter);
  });
  const Outcome outcome = succeed({"eval", "mlp:hidden=8", "--weights", "pt", "--test-size", "100"});
  expect_said(outcome.err, {"ignored", "bn.num_batches_tracked"});
  EXPECT_EQ(eval("mlp:hidden=8", "pt").at("accuracy").at("test"), trained.at("accuracy").at("test"));
  rewrite("w", "more", [](TensorFile& f) {
    f.tensors.push_back({"extra.weight", {{2}, DType::f32}, std::vector<std::byte>(8)});
  });
  expect_refused({"eval", "mlp:hidden=8", "--weights", "more"}, {"extra.weight", "lacks"});
}

TEST_F(CliSavedWeights, SixteenBitsBothWays) {
  const Json trained = succeed_json(train("lenet5", {"--save", "w"}));
  for (const auto& [name, dtype] : {std::pair("fp16", DType::f16), std::pair("bf16", DType::bf16)}) {
    succeed(train("lenet5", {"--save", name, "--save-precision", name}));
    const TensorFile half = read_safetensors(file(name)), whole = read_safetensors(file("w"));
    for (const NamedTensor& tensor : half.tensors) {
      EXPECT_EQ(tensor.type.dtype, dtype) << tensor.name;
      const auto same = std::ranges::find(whole.tensors, tensor.name, &NamedTensor::name);
      EXPECT_EQ(tensor.bytes, as_type(*same, dtype).bytes) << tensor.name;
    }
    EXPECT_LT(half.tensors[0].bytes.size(), whole.tensors[0].bytes.size());
    EXPECT_NEAR(eval("lenet5", name).at("loss").get<double>(), trained.at("test_loss").get<double>(), 0.02);
  }
  succeed(train("lenet5", {"--save", "wide", "--save-precision", "fp64"}));
  EXPECT_EQ(read_safetensors(file("wide")).tensors[0].type.dtype, DType::f64);
  expect_refused(train("lenet5", {"--save", "x", "--save-precision", "fp8"}), {"fp8"});
  expect_refused(train("lenet5", {"--save-precision", "fp16"}), {"--save-precision", "--save"});
}

TEST_F(CliSavedWeights, AValueBeyondFp16KeepsItsTensorInFp32) {
  put("net.json", R"({"name": "n", "input": [1, 28, 28], "layers": [
      {"type": "linear", "name": "out", "units": 10, "init": "constant", "init_scale": 100000}]})");
  const Outcome outcome =
      succeed(train("net.json", {"--save", "w", "--save-precision", "fp16", "--lr", "1e-9"}));
  expect_said(outcome.err, {"'out.weight'", "fp16", "fp32"});
  for (const NamedTensor& tensor : read_safetensors(file("w")).tensors)
    EXPECT_EQ(tensor.type.dtype, tensor.name == "out.weight" ? DType::f32 : DType::f16);
}

TEST_F(CliSavedWeights, ANewHeadKeepsTheRestForOtherClasses) {
  succeed(train("lenet5:activation=tanh", {"--save", "w"}));
  const std::string five = digits(5);
  const Words fit = {"train", "lenet5", "--weights", "w", "--data", five, "--epochs", "1"};
  const Outcome other = run(fit);
  EXPECT_EQ(other.code, 2);
  expect_said(other.err, {"10 classes", "has 5", "--new-head"});
  const Outcome tuned = succeed(with(fit, {"--new-head", "--save", "five"}));
  expect_said(tuned.err, {"8 tensors loaded", "new: out.weight 5x84, out.bias 5",
                          "left out: out.weight 10x84, out.bias 10", "activation=tanh"});
  EXPECT_EQ(eval("lenet5", "five", {"--data", five}).at("images"), 100);
  // With no step to speak of, everything but the head is as it was.
  succeed(with(fit, {"--new-head", "--save", "still", "--lr", "1e-30", "--momentum", "0"}));
  const TensorFile before = read_safetensors(file("w")), after = read_safetensors(file("still"));
  for (const NamedTensor& tensor : before.tensors) {
    const auto same = std::ranges::find(after.tensors, tensor.name, &NamedTensor::name);
    EXPECT_EQ(same->bytes == tensor.bytes, !tensor.name.starts_with("out.")) << tensor.name;
  }
}

TEST_F(CliSavedWeights, ANewHeadNeedsWeightsThatFit) {
  expect_refused(train("lenet5", {"--new-head"}), {"--new-head", "--weights"});
  succeed(train("mlp:hidden=8", {"--save", "w"}));
  expect_refused(train("lenet5", {"--new-head", "--weights", "w"}), {"w", "another network"});
  rewrite("w", "pt", [](TensorFile&) {});
  expect_refused(train("lenet5", {"--new-head", "--weights", "pt"}), {"pt", "no tensor that fits"});
  succeed(train("autoencoder:hidden=8", {"--save", "a"}));
  expect_refused(train("autoencoder:hidden=8", {"--new-head", "--weights", "a"}), {"classifiers"});
}

TEST_F(CliSavedWeights, TheBestEpochIsKept) {
  constexpr int kSeeds = 10;
  int seed = 0;
  double top = 0, end = 0;
  while (top <= end && ++seed <= kSeeds) {
    const Json last = succeed_json(worse_in_the_end(seed, {"--save", "last"}));
    top = top_accuracy(last), end = last.at("accuracy").at("test").get<double>();
  }
  ASSERT_GT(top, end) << "the test needs a last epoch that is worse";
  const Json best =
      succeed_json(worse_in_the_end(seed, {"--save", "best", "--keep-best", "--save-onnx", "best.onnx"}));
  EXPECT_EQ(best.at("best").at("accuracy").at("test"), top);
  EXPECT_EQ(best.at("best").at("file"), "best");
  const Words same_data = {"--seed", std::to_string(seed)};
  EXPECT_EQ(eval("lenet5", "best", same_data).at("accuracy").at("test"), top);
  EXPECT_EQ(eval("lenet5", "last", same_data).at("accuracy").at("test"), end);
  const Json onnx = succeed_json(with({"eval", "best.onnx", "--test-size", "100"}, same_data));
  EXPECT_EQ(onnx.at("accuracy").at("test"), top);
  expect_said(succeed(worse_in_the_end(seed, {"--save", "b", "--keep-best"})).out,
              {"best       epoch", "are in b"});
}

TEST_F(CliSavedWeights, TheBestEpochSurvivesAResume) {
  auto words = [](const std::string& epochs) {
    return train_for(
        epochs, "mlp:hidden=16",
        {"--lr", "5", "--momentum", "0", "--checkpoint-dir", "c", "--keep-best", "--resume", "auto"});
  };
  succeed(words("4"));
  const Json all = succeed_json(words("6"));
  const double top = top_accuracy(all);
  EXPECT_EQ(all.at("best").at("accuracy").at("test"), top);
  EXPECT_EQ(eval("mlp:hidden=16", "c/best.safetensors").at("accuracy").at("test"), top);
  std::filesystem::remove(file("c/best.safetensors"));
  expect_said(succeed(words("7")).err, {"c/best.safetensors", "remaining epochs"});
  expect_refused(train("lenet5", {"--keep-best"}), {"--keep-best", "--save"});
}

TEST_F(CliSavedWeights, OfAnAutoencoderTheLowestLossIsTheBest) {
  const Json json = succeed_json({"train", "autoencoder:hidden=8", "--train-size", "640", "--test-size",
                                  "100", "--epochs", "3", "--save", "w", "--keep-best"});
  double low = 1e9;
  for (const Json& epoch : json.at("epochs")) low = std::min(low, epoch.at("test_loss").get<double>());
  EXPECT_EQ(json.at("best").at("test_loss"), low);
}

}  // namespace
}  // namespace headroom::testing
