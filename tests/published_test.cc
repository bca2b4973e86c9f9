// Published and promised accuracies. The two quick tests run with every `make test`, the others with `make
// accuracy`.
#include <gtest/gtest.h>

#include "base/json.h"
#include "device/device.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class Published : public ProgramTest {
 protected:
  void SetUp() override {
    const char* named = std::getenv("HEADROOM_DATA");
    data_ = named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data";
    if (!std::filesystem::is_directory(data_ / "mnist")) GTEST_SKIP() << "no mnist in " << data_;
  }

  Json train(Words words) {
    words.insert(words.begin(), "train");
    words.insert(words.end(), {"--data-dir", data_.string()});
    return succeed_json(words);
  }

  // Exact to the digits of the course's sheets in fp64; within 0.0005 in fp32.
  void expect_perceptron(const std::string& recipe, const Words& options, const std::string& printed) {
    const int digits = static_cast<int>(printed.size()) - 2;
    for (const char* precision : {"fp64", "fp32"}) {
      Words words = {"--recipe", recipe, "--precision", precision};
      words.insert(words.end(), options.begin(), options.end());
      const double accuracy = train(words)["accuracy"]["test"];
      SCOPED_TRACE(fmt::format("{} {} {}", recipe, fmt::join(options, " "), precision));
      if (precision == std::string("fp64"))
        EXPECT_EQ(fmt::format("{:.{}f}", accuracy, digits), printed);
      else
        EXPECT_NEAR(accuracy, std::stod(printed), 0.0005);
    }
  }

  std::filesystem::path data_;
};

using PublishedPerceptron = Published;
using AccuracyPerceptron = Published;
using AccuracyLenet = Published;
using AccuracyEce408 = Published;

TEST_F(PublishedPerceptron, TheProfiledRun) {
  expect_perceptron("perceptron-nsys1", {}, "0.7279");
  const double first = train({"--recipe", "perceptron-nsys1", "--precision", "fp64"})["first_loss"];
  EXPECT_EQ(fmt::format("{:.5f}", first), "2.30644");
}

TEST_F(PublishedPerceptron, GradingCaseThree) {
  expect_perceptron("perceptron-case3", {}, "0.845167");
  const Json json = train({"--recipe", "perceptron-case3", "--precision", "fp64"});
  EXPECT_EQ(fmt::format("{:.5f}", json["first_loss"].get<double>()), "2.31287");
}

TEST_F(AccuracyPerceptron, TheLearningRates) {
  expect_perceptron("perceptron-nsys1", {"--lr", "0.005"}, "0.6211");
  expect_perceptron("perceptron-nsys1", {"--lr", "0.02"}, "0.7932");
  expect_perceptron("perceptron-nsys1", {"--lr", "0.06"}, "0.8624");
}

TEST_F(AccuracyPerceptron, FourEpochsAndManyHiddenUnits) {
  expect_perceptron("perceptron-nsys1", {"--epochs", "4"}, "0.8492");
  expect_perceptron("perceptron-nsys1", {"--hidden", "2048"}, "0.8329");
}

TEST_F(AccuracyPerceptron, GradingCaseOne) { expect_perceptron("perceptron-case1", {}, "0.894333"); }

// A change of the initial weights by 6e-8 moves this result by up to four images of 6,000, more than the
// three allowed: in fp32 it passes on a Neoverse-V1 (0.924333), and may fail elsewhere.
TEST_F(AccuracyPerceptron, GradingCaseTwo) { expect_perceptron("perceptron-case2", {}, "0.924167"); }

TEST_F(AccuracyLenet, ReadsMnistAfterThreeEpochs) {
  EXPECT_GE(train({"lenet5", "--data", "mnist", "--epochs", "3"})["accuracy"]["test"].get<double>(), 0.985);
}

TEST_F(AccuracyPerceptron, TenEpochsWithTheZoosOwnSettings) {
  EXPECT_GE(train({"mlp:hidden=512", "--data", "mnist", "--epochs", "10"})["accuracy"]["test"].get<double>(),
            0.97);
}

TEST_F(AccuracyEce408, LearnsClothesInThreeEpochs) {
  EXPECT_GE(train({"ece408", "--data", "fashion-mnist", "--epochs", "3"})["accuracy"]["test"].get<double>(),
            0.86);
}

// Glyphs are a real test: a network trained only on them reads real handwriting.
TEST_F(AccuracyLenet, LearnsGlyphsAndReadsMnistByThem) {
  for (const char* seed : {"0", "1"}) {
    const Json json =
        train({"lenet5", "--data", "glyphs", "--epochs", "1", "--seed", seed, "--save", "w.safetensors"});
    EXPECT_GE(json["accuracy"]["test"].get<double>(), 0.98) << "seed " << seed;
    const Json read = succeed_json(
        {"eval", "lenet5", "--weights", "w.safetensors", "--data", "mnist", "--data-dir", data_.string()});
    EXPECT_GE(read["accuracy"]["test"].get<double>(), 0.70) << "seed " << seed;
    RecordProperty(fmt::format("mnist_by_glyphs_{}", seed),
                   fmt::format("{}", read["accuracy"]["test"].get<double>()));
  }
}

class CudaPublished : public Published {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    Published::SetUp();
  }
};

// The course's sheets, to every digit, on the GPU in fp64.
TEST_F(CudaPublished, ThePerceptronsCases) {
  const std::pair<const char*, const char*> rows[] = {{"perceptron-nsys1", "0.7279"},
                                                      {"perceptron-case1", "0.894333"},
                                                      {"perceptron-case2", "0.924167"},
                                                      {"perceptron-case3", "0.845167"}};
  for (const auto& [recipe, printed] : rows) {
    const double accuracy =
        train({"--recipe", recipe, "--precision", "fp64", "--device", "cuda"})["accuracy"]["test"];
    EXPECT_EQ(fmt::format("{:.{}f}", accuracy, std::string_view(printed).size() - 2), printed) << recipe;
  }
}

TEST_F(CudaPublished, LenetReadsMnistInEveryPrecision) {
  for (const char* precision : {"fp64", "fp32", "tf32", "bf16", "fp16"}) {
    const Json json =
        train({"lenet5", "--data", "mnist", "--epochs", "3", "--device", "cuda", "--precision", precision});
    EXPECT_GE(json["accuracy"]["test"].get<double>(), 0.985) << precision;
  }
}

}  // namespace
}  // namespace headroom::testing
