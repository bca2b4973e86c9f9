// The perceptron course's graded cases: norms and criteria by hand, small cases through the program, with one
// process and with two ranks.
#include "bench/perceptron.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "bench/published_perceptron.h"
#include "support/program.h"
#include "support/ranks.h"
#include "train/recipe.h"

namespace headroom::testing {
namespace {

TEST(PerceptronCases, AreTheOnesOfTheRecipes) {
  for (const PerceptronCase& c : perceptron_cases()) {
    const Recipe recipe = find_recipe(c.recipe);
    EXPECT_FALSE(recipe.shuffle) << c.name;
    EXPECT_EQ(recipe.initial, "course") << c.name;
    EXPECT_EQ(recipe.validation_tail, c.norm == WeightNorm::relative_rows ? 6000 : 0) << c.name;
    EXPECT_TRUE(c.fp64) << c.name;
  }
  EXPECT_EQ(find_perceptron_case("medium").tolerance(DType::f32), 1e-6);
  EXPECT_EQ(find_perceptron_case("case2").tolerance(DType::f32), std::nullopt);
  EXPECT_EQ(find_perceptron_case("case2").tolerance(DType::f64), 1e-7);
  EXPECT_EQ(published_trainings("case1", "fp64", "cuda", 4).size(), 3U);
  EXPECT_TRUE(published_trainings("case1", "fp32", "cuda", 4).empty());
}

TEST(PerceptronCases, NormsAreTheCourses) {
  const std::vector<WeightArray> reference = {{"W1", 2, {3, 0, 0, -4}}, {"b1", 2, {0, 0}}};
  const std::vector<WeightArray> other = {{"W1", 2, {3, 0.3, 0.4, -4}}, {"b1", 2, {0, 0.25}}};
  const auto errors = array_errors(other, reference);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_DOUBLE_EQ(errors[0].by(WeightNorm::difference), 0.5);
  EXPECT_DOUBLE_EQ(errors[0].by(WeightNorm::relative), 0.1);
  EXPECT_DOUBLE_EQ(errors[0].by(WeightNorm::relative_rows), 0.1);  // row sums 0.3 and 0.4, divided by 4
  // The reference is zero: the difference itself counts.
  EXPECT_DOUBLE_EQ(errors[1].by(WeightNorm::relative), 0.25);
  EXPECT_THROW(array_errors({other[0]}, reference), Error);
  EXPECT_THROW(array_errors({other[1], other[0]}, reference), Error);
}

TEST(PerceptronCases, PassAndFailByTheCoursesCriteria) {
  const PerceptronCase &small = find_perceptron_case("small1"), &nsys = find_perceptron_case("nsys1"),
                       &old = find_perceptron_case("case3");
  const auto off = [](double by) { return std::vector<ArrayError>{{"W1", by, by, by}, {"b1", 0, 0, 0}}; };
  TrainedPerceptron right{.first_loss = 2.306437, .accuracy = 0.7279};
  const auto published = find_recipe(nsys.recipe).published;
  auto passes = [&](const PerceptronCase& c, DType precision, double error) {
    const PerceptronVerdict verdict =
        judge(c, precision, c.tested ? published : decltype(published){}, right, off(error));
    EXPECT_EQ(verdict.passed, verdict.why.empty());
    return verdict.passed;
  };
  EXPECT_TRUE(passes(small, DType::f32, 0.9e-6));
  EXPECT_FALSE(passes(small, DType::f32, 1.1e-6));
  EXPECT_TRUE(passes(small, DType::f64, 0.9e-14));
  EXPECT_FALSE(passes(small, DType::f64, 1.1e-14));
  EXPECT_FALSE(passes(small, DType::f64, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(passes(nsys, DType::f64, 1e-15));
  EXPECT_FALSE(judge(old, DType::f32, {}, right, off(1)).graded);
  // The weights agree, but all are wrong: the published figures show it.
  right.accuracy = 0.7278;
  EXPECT_FALSE(passes(nsys, DType::f64, 0));
  EXPECT_TRUE(passes(nsys, DType::f32, 0));
  right.accuracy = 0.7279, right.first_loss = 2.30642;
  EXPECT_FALSE(passes(nsys, DType::f64, 0));
  right.first_loss = 2.306437, right.ranks_apart = 1e-3;
  EXPECT_FALSE(passes(nsys, DType::f64, 0));
}

class BenchPerceptron : public ProgramTest {
 protected:
  // Empty if MNIST is not present.
  std::string data() const {
    const char* named = std::getenv("HEADROOM_DATA");
    const std::filesystem::path folder =
        named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data";
    return std::filesystem::is_directory(folder / "mnist") ? folder.string() : "";
  }
  Words words(const Words& more) const {
    Words all = {"bench", "perceptron", "--data-dir", data(), "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void expect_passed(const Json& json, std::size_t rows) {
    EXPECT_EQ(json.at("verdict"), "pass") << json.dump(2);
    ASSERT_EQ(json.at("rows").size(), rows);
    for (const Json& row : json.at("rows")) {
      EXPECT_EQ(row.at("verdict"), "pass");
      EXPECT_GT(row.at("serial_s"), 0);
      EXPECT_GT(row.at("parallel_s"), 0);
      EXPECT_EQ(row.at("errors").size(), 4U);
      for (const char* name : {"W1", "b1", "W2", "b2"})
        EXPECT_LE(row.at("errors").at(name).at("difference"), row.at("tolerance")) << name;
      EXPECT_EQ(row.at("ranks_apart"), 0);
    }
  }
};

TEST_F(BenchPerceptron, AloneIsOneRankAndEqualToTheBit) {
  if (data().empty()) GTEST_SKIP() << "no mnist here: set HEADROOM_DATA";
  const Json json = Json::parse(succeed(words({"small1", "small2"})).out);
  expect_passed(json, 4);
  for (const Json& row : json["rows"]) {
    EXPECT_EQ(row["ranks"], 1);
    EXPECT_EQ(row["held"], 0);
  }
}

TEST_F(BenchPerceptron, TwoRanksAgreeWithOneProcess) {
  if (data().empty()) GTEST_SKIP() << "no mnist here: set HEADROOM_DATA";
  if (const std::string why = why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
  Words all = words({"small1", "small2"});
  all.insert(all.begin(), HEADROOM_PROGRAM);
  const Outcome outcome = run_in_ranks(2, all, folder(), environment());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  expect_passed(json, 8);
  double most = 0;
  for (const Json& row : json["rows"])
    if (row["ranks"] == 2) most = std::max(most, row["held"].get<double>());
  EXPECT_GT(most, 0) << "two ranks add in another order: did both of them work?";
}

TEST_F(BenchPerceptron, WrongRequestsAreRefused) {
  expect_refused({"bench", "perceptron", "smal1"}, {"smal1", "small1"});
  expect_refused({"bench", "perceptron", "small1", "--precision", "fp16"}, {"fp16", "fp32"});
  expect_refused({"bench", "perceptron", "small1", "--ranks", "3"}, {"--ranks is 3", "mpirun -n 3"});
  expect_refused({"bench", "perceptron", "small1", "--quick"}, {"--quick"});
  expect_refused({"bench", "perceptron", "small1", "--data-dir", "nowhere"}, {"mnist", "nowhere"});
}

}  // namespace
}  // namespace headroom::testing
