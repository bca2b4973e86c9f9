// Wrong requests: one message that says what, where and what to try; exit code 2; no partial files.
#include <gtest/gtest.h>

#include "device/device.h"

#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliRequest : ProgramTest {
  // A tiny run to which each case adds a mistake.
  Words train(const Words& more) const {
    Words words = {"train", "mlp:hidden=8", "--train-size", "64", "--test-size", "32"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(CliRequest, UnknownNamesSuggestTheNearest) {
  expect_refused({"trian"}, {"no verb 'trian'", "did you mean 'train'"});
  expect_refused({"train", "lenet"}, {"unknown model 'lenet'", "did you mean 'lenet5'"});
  expect_refused({"predict", "mlpp"}, {"unknown model 'mlpp'", "did you mean 'mlp'"});
  expect_refused({"train", "mlp:hiden=3"}, {"model 'mlp' has no option 'hiden'", "did you mean 'hidden'"});
  expect_refused({"train", "mlp:activation=sigmod"}, {"activation", "'sigmod'", "did you mean 'sigmoid'"});
  expect_refused(train({"--data", "glyps"}), {"no data set 'glyps'", "did you mean 'glyphs'"});
  expect_refused({"train", "--recipe", "perceptron-smal1"},
                 {"'perceptron-smal1'", "did you mean 'perceptron-small1'"});
  expect_refused({"predict", "mlp", "--machine", "h20"}, {"unknown machine 'h20'", "did you mean 'h200'"});
  expect_refused({"machine", "show", "h20"}, {"unknown machine 'h20'", "did you mean 'h200'"});
  expect_refused(train({"--precision", "fp23"}), {"unknown precision 'fp23'", "did you mean 'fp32'"});
  expect_refused(train({"--device", "cpi"}), {"unknown device 'cpi'", "did you mean 'cpu'"});
  expect_refused(train({"--kernel", "linaer=reference"}), {"'linaer'", "did you mean 'linear'"});
  expect_refused(train({"--kernel", "linear=cpu:blsa"}),
                 {"has no kernel 'cpu:blsa'", "did you mean 'cpu:blas'"});
  expect_refused({"predict", "mlp", "--mode", "tain"}, {"unknown mode 'tain'", "did you mean 'train'"});
}

TEST_F(CliRequest, UnknownOptionsSuggestTheNearest) {
  expect_refused(train({"--epoch", "1"}), {"'--epoch'", "did you mean '--epochs'"});
  expect_refused(train({"--lrr=1"}), {"'--lrr'", "did you mean '--lr'"});
  expect_refused({"predict", "mlp", "--machines", "h200"}, {"'--machines'", "did you mean '--machine'"});
  expect_refused({"--vresion"}, {"'--vresion'", "did you mean '--version'"});
  expect_refused({"model", "lits"}, {"'lits'", "did you mean 'list'"});
  expect_refused({"demo", "--sed", "3"}, {"'--sed'", "did you mean '--seed'"});
}

TEST_F(CliRequest, MissingAndSpareWordsAreNamed) {
  expect_refused({"train"}, {"no model", "headroom train lenet5"});
  expect_refused({"predict"}, {"'headroom predict' needs a model", "headroom predict --help"});
  expect_refused({"model"}, {"headroom model list"});
  expect_refused({"machine"}, {"headroom machine list"});
  expect_refused({"machine", "show"}, {"name", "headroom machine show --help"});
  expect_refused({"eval", "mlp"}, {"--weights", "--save"});
  expect_refused({"train", "mlp", "lenet5"}, {"'lenet5'", "headroom train --help"});
  expect_refused(train({"--lr"}), {"--lr", "headroom train --help"});
  expect_refused(train({"--save", ""}), {"empty word after '--save'", "shell variable"});
  expect_refused(train({"--save="}), {"empty word after '--save='"});
  expect_refused({""}, {"empty word"});
  expect_refused(train({"--kernel", "linear"}), {"'linear'", "--kernel conv2d=cpu:im2col_gemm"});
}

TEST_F(CliRequest, NumbersOutOfRangeAreNamed) {
  for (const char* value : {"-0.1", "0", "nan", "inf", "-inf"})
    expect_refused(train({"--lr", value}), {"--lr is ", "must be a positive number"});
  for (const char* value : {"fast", "0.1x"})
    expect_refused(train({"--lr", value}), {fmt::format("--lr is '{}', which is not a number", value)});
  expect_refused(train({"--momentum", "1"}), {"--momentum is 1", "below 1"});
  expect_refused(train({"--momentum", "-0.5"}), {"--momentum is -0.5"});
  expect_refused(train({"--l2", "-1"}), {"--l2 is -1"});
  expect_refused(train({"--nesterov", "--momentum", "0"}), {"--nesterov", "--momentum"});
  for (const char* value : {"0", "-3"})
    expect_refused(train({"--epochs", value}), {"--epochs is", "at least 1"});
  expect_refused(train({"--epochs", "1000000000000"}), {"--epochs is 1000000000000"});
  expect_refused(train({"--epochs", "99999999999999999999"}), {"--epochs"});
  expect_refused(train({"--epochs", "1.5"}), {"--epochs", "1.5"});
  for (const char* value : {"0", "-1"}) {
    expect_refused({"train", "mlp", "--batch", value}, {"--batch is", "at least 1"});
    expect_refused({"train", "mlp", "--train-size", value}, {"--train-size is", "at least 1"});
    expect_refused({"train", "mlp", "--test-size", value}, {"--test-size is", "at least 1"});
    expect_refused({"train", "mlp", "--hidden", value}, {"--hidden is", "at least 1"});
  }
  expect_refused(train({"--target", "90"}), {"--target is 90", "between 0 and 1"});
  expect_refused(train({"--log-every", "-1"}), {"--log-every is -1"});
  expect_refused(train({"--threads", "-1"}), {"--threads is -1"});
  expect_refused(train({"--seed", "-1"}), {"--seed", "negative"});
  expect_refused(train({"--seed", "1", "--seed", "2"}), {"--seed was given 2 times"});
  expect_refused({"roofline", "--seconds", "nan"}, {"--seconds is nan"});
  expect_refused({"roofline", "--threads", "-2"}, {"--threads is -2"});
  expect_refused({"roofline", "--device", "cdua"}, {"'cdua'", "did you mean 'cuda'?"});
  expect_refused({"predict", "mlp", "--batch", "0"}, {"--batch is 0"});
  expect_refused({"predict", "mlp", "--batch", "1,x"}, {"--batch is 'x'", "whole number"});
}

TEST_F(CliRequest, ModelOptionsAreChecked) {
  expect_refused({"train", "mlp:hidden"}, {"'hidden' has no value"});
  expect_refused({"train", "mlp:hidden=0"}, {"hidden is 0"});
  expect_refused({"train", "mlp:hidden=-4"}, {"hidden is -4"});
  expect_refused({"train", "mlp:hidden=8x"}, {"hidden", "not a whole number"});
  expect_refused({"train", "mlp:hidden=1e9"}, {"hidden", "not a whole number"});
  expect_refused({"train", "mlp:input=3x4"}, {"input", "one number, not 2"});
  expect_refused({"train", "lenet5", "--hidden", "8"}, {"--hidden is an option of mlp"});
}

TEST_F(CliRequest, SizesNoMachineHoldsAreRefused) {
  expect_refused({"train", "mlp:hidden=16777216x16777216"}, {"hidden"});
  expect_refused({"train", "lenet5", "--batch", "1000000000"}, {"memory", "smaller --batch"});
  expect_refused({"predict", "lenet5", "--machine", "h200", "--batch", "9000000000000000000"}, {"numbers"});
  expect_refused({"train", "mlp", "--train-size", "9000000000000000000"}, {"glyphs", "fewer"});
}

TEST_F(CliRequest, DataThatDoesNotFitTheModelIsNamed) {
  expect_refused(train({"--batch", "65"}), {"batch of 65", "64 training images", "at most 64"});
  expect_refused({"train", "mlp:input=100", "--train-size", "64", "--test-size", "32"},
                 {"10x10", "12 to 1024"});
  expect_refused({"train", "mlp:input=200", "--train-size", "64", "--test-size", "32"},
                 {"takes 200 values", "square"});
  expect_refused({"train", "lenet5", "--data", "glyphs:size=64", "--train-size", "64", "--test-size", "32"},
                 {"1x64x64", "1x32x32"});
  expect_refused({"train", "lenet5:classes=7", "--train-size", "64", "--test-size", "32"},
                 {"7 classes", "has 10", ":classes=10"});
  expect_refused(train({"--data", "glyphs:sise=20"}), {"'sise'", "did you mean 'size'"});
  expect_refused(train({"--data", "mnist:size=20"}), {"mnist", "size=20"});
}

TEST_F(CliRequest, PrecisionsAndDevicesThatAreNotHereSaySo) {
  for (const char* name : {"fp16", "tf32"}) expect_refused(train({"--precision", name}), {name, "fp32"});
  expect_refused(train({"--device", "cuda:99"}), {"GPU"});
  if (survey_gpus().gpus.empty()) expect_refused(train({"--device", "cuda"}), {"no GPU", "--device cpu"});
}

TEST_F(CliRequest, PlacesThatCannotBeWrittenAreRefusedBeforeTraining) {
  std::filesystem::create_directory(file("taken"));
  put("plain", "");
  for (const char* option : {"--save", "--record"}) {
    // An hour of training that must not start.
    auto long_run = [&](const std::string& path) {
      return Words{"train", "lenet5", "--epochs", "1000", option, path};
    };
    expect_refused(long_run("taken"), {"cannot write taken", "folder"});
    expect_refused(long_run("missing/w"), {"cannot write missing/w", "no folder missing"});
    expect_refused(long_run("plain/w"), {"cannot write plain/w"});
    expect_refused(long_run("/proc/w"), {"cannot write /proc/w"});
    expect_refused(long_run(std::string(300, 'x')), {"cannot write", "too long"});
  }
  expect_refused({"train", "mlp", "--save", "w", "--record", "w"}, {"--save and --record", "same file"});
}

TEST_F(CliRequest, AForcedKernelThatRefusesSaysWhy) {
  expect_refused({"train", "lenet5", "--kernel", "conv2d=cpu:as_linear"},
                 {"'cpu:as_linear' refuses conv2d", "does not cover the whole input"});
  put("net.json", R"({"input": [1, 28, 28], "layers": [{"type": "max_pool", "name": "P", "kernel": 3},
                      {"type": "linear", "name": "out", "units": 10}]})");
  expect_refused({"predict", "net.json", "--machine", "h200", "--kernel", "max_pool=cpu:pairs"},
                 {"'cpu:pairs' is not for this device"});
}

}  // namespace
}  // namespace headroom::testing
