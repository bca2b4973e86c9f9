// headroom eval MODEL --compare-kernels
#include <gtest/gtest.h>

#include "base/json.h"
#include "report/record.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

std::filesystem::path public_data() {
  const char* named = std::getenv("HEADROOM_DATA");
  return named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data";
}

struct CliCompareKernels : ProgramTest {
  void train(const std::string& model, const Words& more) const {
    succeed(with({"train", model, "--epochs", "1", "--save", "w.safetensors"}, more));
  }
};

TEST_F(CliCompareKernels, BothKindsOfConvolutionsStandSideBySide) {
  train("lenet5", {"--train-size", "200", "--test-size", "50"});
  const Words words = {"eval", "lenet5", "--weights", "w.safetensors", "--compare-kernels"};
  const Json json = succeed_json(with(words, {"--images", "70,30", "--batch", "20"}));
  ASSERT_EQ(json.at("sizes").size(), 2u);
  EXPECT_EQ(json.at("published").size(), 0u);
  for (const Json& size : json.at("sizes")) {
    EXPECT_EQ(size.at("batch"), 20);
    for (const char* kind : {"library", "own"}) {
      const Json& side = size.at(kind);
      ASSERT_EQ(side.at("layers").size(), 3u);
      for (const Json& layer : side.at("layers")) {
        EXPECT_GT(layer.at("op_ms").at("median"), 0);
        EXPECT_LT(layer.at("op_ms").at("median"), side.at("sum_ms").at("median"));
      }
      const Json& program = side.at("program");
      EXPECT_GT(program.at("elapsed_s"), 0);
      EXPECT_GT(program.at("user_s"), 0);
      EXPECT_GT(program.at("minor_faults"), 0);
      EXPECT_GE(program.at("peak_rss_bytes"), 1 << 20);
    }
    EXPECT_EQ(size.at("library").at("accuracy"), size.at("own").at("accuracy"));
    EXPECT_NE(size.at("library").at("layers")[0].at("kernel"), size.at("own").at("layers")[0].at("kernel"));
  }
  const Json plain = succeed_json({"eval", "lenet5", "--weights", "w.safetensors", "--kernel", "conv2d=own",
                                   "--test-size", "30", "--batch", "20"});
  EXPECT_EQ(plain.at("images"), 30) << "the kinds are choices of a plain evaluation, too";
}

TEST_F(CliCompareKernels, TablesCsvAndARecord) {
  train("lenet5", {"--train-size", "100", "--test-size", "50"});
  const Words words = {"eval", "lenet5", "--weights", "w.safetensors", "--compare-kernels", "--images", "30"};
  const std::string text = succeed(with(words, {"--record", "r.json"})).out;
  for (const char* part : {"cpu:im2col_blas", "C3", "times as fast", "CPU %", "major faults", "peak MB"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(read_record(folder() / "r.json").tables.size(), 2u);
  EXPECT_TRUE(succeed(with(words, {"--csv"})).out.starts_with("images,batch,layer,library_kernel,"));
}

// The sizes of the course as far as the data goes.
TEST_F(CliCompareKernels, TheNetworkOf2018WithWeightsTrainedHere) {
  train("ece408", {"--train-size", "20", "--test-size", "10", "--batch", "10"});
  const Words words = {"eval", "ece408", "--weights", "w.safetensors", "--compare-kernels"};
  const Json json = succeed_json(with(words, {"--test-size", "120", "--batch", "60"}));
  ASSERT_EQ(json.at("sizes").size(), 2u);
  EXPECT_EQ(json.at("sizes")[0].at("images"), 100);
  EXPECT_EQ(json.at("sizes")[1].at("images"), 120);
  EXPECT_EQ(json.at("published").size(), 0u) << "glyphs are not the course's images";
}

TEST_F(CliCompareKernels, ThePublishedFiguresStandBesideTheCoursesNetwork) {
  const auto weights = public_data() / "ece408/ece408-2019sp.params";
  if (!std::filesystem::exists(weights) || !std::filesystem::is_directory(public_data() / "fashion-mnist"))
    GTEST_SKIP() << "no " << weights << " or no fashion-mnist beside it";
  const Json json =
      succeed_json({"eval", "ece408:term=2019sp", "--weights", weights.string(), "--data", "fashion-mnist",
                    "--data-dir", public_data().string(), "--compare-kernels", "--images", "100,1000"});
  ASSERT_EQ(json.at("sizes").size(), 2u);
  ASSERT_EQ(json.at("published").size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    for (const char* kind : {"library", "own"})
      EXPECT_NEAR(json.at("sizes")[i].at(kind).at("accuracy"), json.at("published")[i].at("accuracy"), 1e-9);
}

TEST_F(CliCompareKernels, WrongNumbersOfImages) {
  train("lenet5", {"--train-size", "100", "--test-size", "50"});
  const Words words = {"eval", "lenet5", "--weights", "w.safetensors", "--compare-kernels", "--images"};
  expect_refused(with(words, {"0"}), {"--images has 0", "at least 1"});
  expect_refused(with(words, {"10,many"}), {"--images is 'many'", "whole number"});
  expect_refused(with(words, {"100,5000", "--test-size", "200"}), {"--images has 5000", "200 test images"});
}

}  // namespace
}  // namespace headroom::testing
