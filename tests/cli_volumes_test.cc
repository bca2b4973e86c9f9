// A network with windows over three axes through the program: shown, predicted, run, trained and written
// again.
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/random.h"
#include "data/npy.h"
#include "models/onnx/testing/model_maker.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

using onnx::testing::ModelMaker;
using Ints = std::vector<std::int64_t>;

struct CliVolumes : ProgramTest {
  static std::vector<float> drawn(std::int64_t count, double scale, std::uint64_t stream) {
    const Philox random(5, stream);
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(scale * random.normal(static_cast<std::uint64_t>(i))));
    return values;
  }

  // An image of 28x28 as a volume of four slices of 14x14, two convolutions, pools, ten classes.
  void put_network() const {
    ModelMaker m(15);
    m.input("image", {"N", "1", "28", "28"});
    m.integers("as_volume", {-1, 1, 4, 14, 14});
    m.node("Reshape", {"image", "as_volume"}, {"volume"});
    m.floats("w1", {8, 1, 3, 3, 3}, drawn(8 * 27, 0.3, 1));
    m.floats("b1", {8}, std::vector<float>(8, 0.1F));
    ModelMaker::set(m.node("Conv", {"volume", "w1", "b1"}, {"c1"}), "pads", Ints(6, 1));
    m.floats("scale", {8}, std::vector<float>(8, 1));
    m.floats("offset", {8}, std::vector<float>(8, 0));
    m.floats("mean", {8}, std::vector<float>(8, 0));
    m.floats("variance", {8}, std::vector<float>(8, 1));
    m.node("BatchNormalization", {"c1", "scale", "offset", "mean", "variance"}, {"n1"});
    m.node("Relu", {"n1"}, {"r1"});
    onnx::NodeProto& pool = m.node("MaxPool", {"r1"}, {"p1"});
    ModelMaker::set(pool, "kernel_shape", Ints{2, 2, 2});
    ModelMaker::set(pool, "strides", Ints{2, 2, 2});
    m.floats("w2", {16, 8, 2, 3, 3}, drawn(16 * 8 * 18, 0.1, 2));
    m.node("Conv", {"p1", "w2"}, {"c2"});
    m.node("Relu", {"c2"}, {"r2"});
    onnx::NodeProto& mean = m.node("AveragePool", {"r2"}, {"p2"});
    ModelMaker::set(mean, "kernel_shape", Ints{1, 2, 2});
    ModelMaker::set(mean, "strides", Ints{1, 2, 2});
    m.node("Flatten", {"p2"}, {"flat"});
    m.floats("w3", {64, 10}, drawn(640, 0.2, 3));
    m.node("Gemm", {"flat", "w3"}, {"scores"});
    m.output("scores", {"N", "10"});
    put("volumes.onnx", m.model.SerializeAsString());
  }
};

TEST_F(CliVolumes, AreShownAndPredicted) {
  put_network();
  const Json json = succeed_json({"model", "show", "volumes.onnx", "--batch", "2"});
  EXPECT_FALSE(json.contains("unknown"));
  const std::string table = succeed({"model", "show", "volumes.onnx"}).out;
  for (const char* op : {"conv3d", "max_pool3d", "avg_pool3d"})
    EXPECT_NE(table.find(op), std::string::npos) << op;
  for (const char* machine : {"h200", "here"})
    succeed({"predict", "volumes.onnx", "--mode", "train", "--machine", machine});
}

TEST_F(CliVolumes, LearnAndAreWritten) {
  put_network();
  const Json json =
      succeed_json({"train", "volumes.onnx", "--train-size", "1280", "--test-size", "200", "--batch", "32",
                    "--epochs", "2", "--lr", "0.05", "--save-onnx", "trained.onnx"});
  const double accuracy = json["accuracy"]["test"];
  EXPECT_GT(accuracy, 0.3) << "guesses are right once in ten";
  const Json again = succeed_json({"eval", "trained.onnx", "--test-size", "200", "--batch", "32"});
  EXPECT_EQ(again["accuracy"]["test"].get<double>(), accuracy);
  succeed({"model", "export", "trained.onnx", "-o", "again.onnx"});
  EXPECT_FALSE(succeed_json({"model", "show", "again.onnx"}).contains("unknown"));
}

}  // namespace
}  // namespace headroom::testing
