// headroom eval MODEL --sync-layers
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliSyncLayers : ProgramTest {
  static Words words(const std::string& model, Words more) {
    Words list = {"eval", model, "--sync-layers", "--samples", "3"};
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }
};

TEST_F(CliSyncLayers, TheNumbersAgreeWithEachOther) {
  for (const char* model :
       {"alexnet:width=0.125,input=67", "googlenet:width=0.125,input=32", "autoencoder"}) {
    SCOPED_TRACE(model);
    const Json json = succeed_json(words(model, {"--batch", "2", "--random"}));
    double sum = 0;
    for (const Json& layer : json.at("layers")) sum += layer.at("synchronized_s").at("median").get<double>();
    EXPECT_NEAR(json.at("sum_of_medians_s").get<double>(), sum, 1e-9 * sum);
    const double total = json.at("sum_s").at("median");
    EXPECT_EQ(json.at("synchronizations"), json.at("layers").size());
    const double overhead = json.at("overhead_s"), corrected = json.at("corrected_sum_s");
    EXPECT_NEAR(corrected, total - overhead, 1e-9 * total);
    EXPECT_NEAR(json.at("remaining_s").get<double>(),
                corrected - json.at("whole_s").at("median").get<double>(), 1e-9 * sum);
    EXPECT_EQ(json.at("whole_s").at("samples"), 3);
    EXPECT_EQ(json.at("batch"), 2);
    EXPECT_EQ(json.at("data"), "random images");
    EXPECT_EQ(json.at("one_launch"), false);
  }
}

TEST_F(CliSyncLayers, ForPeopleAndByImagesOfADataSet) {
  const std::string text =
      succeed(words("lenet5", {"--data", "glyphs", "--test-size", "20", "--batch", "8"})).out;
  for (const char* part : {"lenet5", "glyphs, batch 8", "C3", "layers, with a wait after each",
                           "what waiting adds", "sum, corrected", "whole network", "what remains"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(CliSyncLayers, WrongRequests) {
  expect_refused(words("lenet5", {"--random", "--data", "glyphs"}), {"--random", "--data"});
  expect_refused({"eval", "lenet5", "--random"}, {"--random", "--sync-layers"});
  expect_refused({"eval", "lenet5", "--sync-layers", "--samples", "0"}, {"--samples", "0"});
}

}  // namespace
}  // namespace headroom::testing
