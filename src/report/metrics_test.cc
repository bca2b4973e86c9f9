#include "report/metrics.h"
#include "base/json.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

// Class 0: one right, one classified as 2. Class 1: right. Class 2: never seen.
Metrics example(std::int64_t classes = 3) {
  Metrics m(classes, 2);
  std::vector<double> scores(static_cast<std::size_t>(3 * classes));
  const std::vector<std::int32_t> labels = {0, 0, 1};
  const std::vector<std::size_t> said = {0, 2, 1};
  for (std::size_t i = 0; i < 3; ++i) scores[i * static_cast<std::size_t>(classes) + said[i]] = 5;
  m.add(scores, labels);
  return m;
}

TEST(MetricsReport, JsonHoldsEveryCount) {
  const Metrics m = example();
  const Json json = metrics_json(m, {"cat", "dog", "owl"});
  EXPECT_EQ(json.at("top_2"), m.top_accuracy());
  EXPECT_EQ(json.at("log_loss"), m.log_loss());
  EXPECT_EQ(json.at("confusion"), Json::parse("[[1, 0, 1], [0, 1, 0], [0, 0, 0]]"));
  ASSERT_EQ(json.at("classes").size(), 3u);
  const Json& cat = json.at("classes").at(0);
  EXPECT_EQ(cat.at("class"), "cat");
  EXPECT_EQ(cat.at("images"), 2);
  EXPECT_EQ(cat.at("precision"), 1.0);
  EXPECT_EQ(cat.at("recall"), 0.5);
}

TEST(MetricsReport, ClassesWithoutNamesAreNumbers) {
  EXPECT_EQ(metrics_json(example(), {}).at("classes").at(2).at("class"), "2");
  EXPECT_EQ(metrics_json(example(), {"cat"}).at("classes").at(1).at("class"), "1") << "and those left out";
}

TEST(MetricsReport, TheTableHasTheMatrixBesideIt) {
  const std::string table = metrics_sheet(example(), {"cat", "dog", "owl"}).text();
  for (const char* part :
       {"class", "precision", "recall", "taken for 0", "0 cat", "2 owl", "0.5000", "1.0000"})
    EXPECT_NE(table.find(part), std::string::npos) << "no '" << part << "' in\n" << table;
  EXPECT_EQ(metrics_sheet(example(), {}).text().find("0 0"), std::string::npos)
      << "a number is not said twice";
}

TEST(MetricsReport, AMatrixTooWideForAScreenIsLeftOut) {
  EXPECT_NE(metrics_sheet(example(12), {}).text().find("taken for"), std::string::npos);
  EXPECT_EQ(metrics_sheet(example(13), {}).text().find("taken for"), std::string::npos);
}

}  // namespace
}  // namespace headroom
