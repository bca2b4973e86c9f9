// Costs and timings of an ONNX file from the user's side: precisions of absent machines, and batches fixed by
// the file.
#include <gtest/gtest.h>

#include "base/json.h"
#include "models/onnx/testing/model_maker.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliOnnxCosts : ProgramTest {
  CliOnnxCosts() {
    succeed({"model", "export", "lenet5", "-o", "open.onnx"});
    succeed({"model", "export", "lenet5", "-o", "two.onnx", "--batch", "2"});
  }
};

TEST_F(CliOnnxCosts, IsPredictedInPrecisionsOfOtherMachines) {
  for (const char* precision : {"bf16", "fp16", "tf32", "fp64"}) {
    const Json json = succeed_json({"predict", "open.onnx", "--machine", "h200", "--precision", precision});
    EXPECT_EQ(json.at("mode"), "train") << precision;
    EXPECT_EQ(json.at("predictions").size(), 1u) << precision;
  }
}

TEST_F(CliOnnxCosts, TheBatchOfTheFileIsTheOneThatIsTimed) {
  const Outcome outcome = succeed({"predict", "two.onnx", "--machine", "h200", "--batch", "1,64"});
  EXPECT_NE(outcome.err.find("a batch of 2, set by its file"), std::string::npos) << outcome.err;
  const Json forward =
      succeed_json({"bench", "forward", "two.onnx", "--batch", "8", "--seconds", "0.01"}).at("nets")[0];
  EXPECT_EQ(forward.at("batch"), 2);
  const Json steps = succeed_json({"bench", "nets", "two.onnx", "--batch", "8", "--rounds", "1"});
  EXPECT_EQ(steps.at("convnets")[0].at("batch"), 2);
  expect_refused({"predict", "two.onnx", "--machine", "h200", "--batch", "0"}, {"--batch is 0"});
}

TEST_F(CliOnnxCosts, APlanWithoutStepsHasNoRate) {
  onnx::testing::ModelMaker m;
  m.input("x", {"batch", "4"});
  m.node("Identity", {"x"}, {"y"});
  m.output("y", {"batch", "4"});
  put("same.onnx", m.bytes());
  const std::string csv =
      succeed({"predict", "same.onnx", "--machine", "epyc-9654", "--mode", "eval", "--csv"}).out;
  EXPECT_NE(csv.find("\nepyc-9654,"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("inf"), std::string::npos) << csv;
}

TEST_F(CliOnnxCosts, TheBatchOfTheFileIsTheOneThatIsCounted) {
  const Words switches = {"bench", "switches", "--model", "two.onnx", "--batch", "8", "--rounds", "1"};
  for (const Json& t : succeed_json(with(switches, {"--images", "4"})).at("timings")) {
    EXPECT_EQ(t.at("batch"), 2);
    EXPECT_EQ(t.at("images"), 4);
  }
  expect_refused(with(switches, {"--images", "5"}),
                 {"--images is 5, not a multiple", "two.onnx", "--images 4"});
  const Json steps = succeed_json(
      {"bench", "alloc", "--m", "30", "--n", "20", "--k", "10", "--model", "two.onnx", "--batch", "8"});
  EXPECT_EQ(steps.at("batch"), 2);
}

// Found before the first network is timed, not after.
TEST_F(CliOnnxCosts, WhatCannotBeTrainedIsRefusedBeforeTheOthersAreTimed) {
  onnx::testing::ModelMaker m;
  m.input("x", {"batch", "4"});
  m.floats("w", {4, 4}, std::vector<float>(16, 0.5F));
  m.node("MatMul", {"x", "w"}, {"h"});
  onnx::TensorProto& count = *m.graph.add_initializer();
  count.set_name("k");
  count.set_data_type(onnx::TensorProto::INT64);
  count.add_dims(1);
  count.add_int64_data(2);
  m.node("TopK", {"h", "k"}, {"y", "places"});
  m.output("y", {"batch", "2"});
  put("top.onnx", m.bytes());
  succeed({"bench", "forward", "top.onnx", "--seconds", "0.01"});
  const Outcome outcome = run({"bench", "forward", "two.onnx", "top.onnx", "--step", "--seconds", "0.01"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("has no gradient"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("bench: "), std::string::npos) << "nothing was timed: " << outcome.err;
}

// Tokens are drawn from the table they are looked up in; integers with another meaning cannot be drawn.
TEST_F(CliOnnxCosts, IntegersWithoutATableAreNotTimed) {
  onnx::testing::ModelMaker m;
  m.input("x", {"batch", "4"}, onnx::TensorProto::INT64);
  onnx::testing::ModelMaker::set(m.node("Cast", {"x"}, {"y"}), "to", std::int64_t{onnx::TensorProto::FLOAT});
  m.output("y", {"batch", "4"});
  put("numbers.onnx", m.bytes());
  expect_refused({"bench", "forward", "numbers.onnx", "--batch", "1"},
                 {"int64", "no index into a table", "--input"});
}

}  // namespace
}  // namespace headroom::testing
