// The deterministic numbers of tests/golden are the same in C++ and in Python, and a digest detects what it
// should.
#include <gtest/gtest.h>

#include "base/json.h"
#include "golden/golden.h"

namespace headroom::testing {
namespace {

constexpr double kFormulaTolerance = 1e-10;
constexpr std::string_view kNetworks[] = {"mlp", "lenet5", "mixed"};

TEST(GoldenFormula, ValuesAreThoseOfPython) {
  for (std::string_view network : kNetworks) {
    const Json values = golden_json(network).at("formula").at("values");
    ASSERT_GE(values.size(), 10u);
    for (const Json& row : values)
      EXPECT_EQ(golden_value(row.at(0), row.at(1)), row.at(2).get<double>()) << network << " " << row.dump();
  }
}

TEST(GoldenFormula, LabelsAreThoseOfPython) {
  for (std::string_view network : kNetworks) {
    const Json golden = golden_json(network);
    const Json& labels = golden.at("formula").at("labels");
    ASSERT_EQ(labels.size(), golden.at("input").at(0).get<std::size_t>());
    for (std::size_t i = 0; i < labels.size(); ++i)
      EXPECT_EQ(golden_label(i, golden.at("classes")), labels[i].get<int>()) << network << " label " << i;
  }
}

TEST(GoldenFormula, InitialParametersAreThoseOfPython) {
  for (std::string_view network : kNetworks) {
    const Json golden = golden_json(network);
    std::uint64_t tensor = 1;
    for (const auto& [name, dims] : golden.at("shapes").items()) {
      const auto values = golden_fill(tensor++, Shape(dims.get<std::vector<std::int64_t>>()));
      const Json& want = golden.at("initial").at(name);
      EXPECT_EQ(compare_digest(want, values, kFormulaTolerance), "") << network << " " << name;
      EXPECT_EQ(values.front(), want.at("first").at(0).get<double>()) << network << " " << name;
      EXPECT_EQ(values.back(), want.at("samples").at(15).get<double>()) << network << " " << name;
    }
  }
}

// The largest tensor, where one element has the least weight in a sum.
class GoldenDigest : public ::testing::Test {
 protected:
  const Json want_ = golden_json("mlp").at("initial").at("hidden.weight");
  std::vector<double> values_ = golden_fill(1, {512, 784});
  const double rms_ =
      std::sqrt(want_.at("sum_of_squares").get<double>() / static_cast<double>(values_.size()));

  std::string mismatch(double rtol = kFormulaTolerance) const { return compare_digest(want_, values_, rtol); }
};

TEST_F(GoldenDigest, SeesOneAlteredSample) {
  const std::size_t sample = 7 * (values_.size() - 1) / 15;
  values_[sample] += 1.01e-4 * rms_;
  EXPECT_EQ(mismatch(1.1e-4), "");
  EXPECT_NE(mismatch(1e-4).find(fmt::format("element {} ", sample)), std::string::npos) << mismatch(1e-4);
}

TEST_F(GoldenDigest, SeesOneAlteredElementByItsWeight) {
  values_[123457] += 1e-3 * rms_;
  EXPECT_NE(mismatch().find("sum"), std::string::npos) << mismatch();
}

// Where the cosine is nearly zero the weighted sum detects nothing, but the plain one does.
TEST_F(GoldenDigest, SeesOneAlteredElementOfNoWeight) {
  const auto weight = [](std::size_t i) { return std::abs(std::cos(0.37 * static_cast<double>(i) + 0.1)); };
  std::size_t lightest = 100000;
  for (std::size_t i = lightest; i < 110000; ++i)
    if (weight(i) < weight(lightest)) lightest = i;
  values_[lightest] += 1e-3 * rms_;
  EXPECT_EQ(mismatch(1e-6).find("sum is"), 0u) << mismatch(1e-6);
}

// A pattern orthogonal to the constant and to the cosine changes neither sum.
TEST_F(GoldenDigest, SeesWhatOnlyTheSquaresShow) {
  const double inner = 1 + 2 * std::cos(0.37);
  const double pattern[] = {1, -inner, inner, -1};
  for (std::size_t k = 0; k < 4; ++k) values_[123457 + k] += 10 * rms_ * pattern[k];
  EXPECT_EQ(mismatch(1e-6).find("sum of squares"), 0u) << mismatch(1e-6);
}

// A transposed or shuffled tensor keeps its sum and its squares; only the weighted sum shows it.
TEST_F(GoldenDigest, SeesTwoElementsExchanged) {
  ASSERT_GT(std::abs(values_[123457] - values_[123461]), 0.1 * rms_);
  std::swap(values_[123457], values_[123461]);
  EXPECT_EQ(mismatch().find("weighted sum"), 0u) << mismatch();
}

TEST_F(GoldenDigest, SeesNotANumberAndInfinityAnywhere) {
  for (double poison : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    values_ = golden_fill(1, {512, 784});
    values_[123457] = poison;
    EXPECT_NE(mismatch(1e-2), "");
  }
}

TEST_F(GoldenDigest, SeesAWrongLength) {
  values_.pop_back();
  EXPECT_EQ(mismatch(), "401407 elements, expected 401408");
}

TEST(GoldenDigestOfZeros, AllowsNothingElse) {
  const Json want = {{"n", 8},
                     {"sum", 0.0},
                     {"weighted", 0.0},
                     {"sum_of_squares", 0.0},
                     {"first", std::vector<double>(4)},
                     {"samples", std::vector<double>(16)}};
  std::vector<double> values(8);
  EXPECT_EQ(compare_digest(want, values, kFormulaTolerance), "");
  values[5] = 1e-300;
  EXPECT_NE(compare_digest(want, values, kFormulaTolerance), "");
}

}  // namespace
}  // namespace headroom::testing
