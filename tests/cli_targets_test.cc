// Networks that learn numbers instead of classes, through the program.
#include <gtest/gtest.h>

#include <cstring>

#include "base/json.h"
#include "base/random.h"
#include "data/npy.h"
#include "support/ranks.h"

namespace headroom::testing {
namespace {

struct CliTargets : ProgramTest {
  void put_array(const std::string& name, const Shape& shape, const std::vector<float>& values) const {
    NamedTensor tensor{.name = "", .type = {shape, DType::f32}, .bytes = {}};
    tensor.bytes.resize(values.size() * sizeof(float));
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    write_npy(file(name), tensor);
  }
  // 400 items of 3 numbers. y: a plane over them, and a constant; labels: which of the first two are
  // positive.
  CliTargets() {
    know_machine(1);
    const Philox random(7);
    std::vector<float> x, y, labels;
    for (std::uint64_t i = 0; i < 1200; ++i) x.push_back(static_cast<float>(random.normal(i)));
    for (std::size_t i = 0; i < x.size(); i += 3) {
      y.push_back(2 * x[i] - x[i + 1] + 0.5F), y.push_back(1.5F);
      labels.push_back(x[i] > 0), labels.push_back(x[i + 1] > 0);
    }
    put_array("x.npy", {400, 3}, x);
    put_array("y.npy", {400, 2}, y);
    put_array("labels.npy", {400, 2}, labels);
  }
  static Words with_data(const std::string& targets, const Words& more = {}) {
    return with(
        {"mlp:hidden=8,activation=tanh", "--data", "npy:x.npy," + targets, "--batch", "20", "--threads", "1"},
        more);
  }
  Json train(const std::string& targets, const Words& more = {}) const {
    return succeed_json(with({"train"}, with_data(targets, with({"--epochs", "20", "--lr", "0.1"}, more))));
  }
};

TEST_F(CliTargets, NumbersAreLearnedAndScored) {
  const Json json = train("y.npy", {"--save", "w.safetensors"});
  EXPECT_FALSE(json.contains("accuracy"));
  EXPECT_GT(json.at("metrics").at("r2"), 0.4) << "the constant gives 0 unless it is hit exactly";
  EXPECT_LT(json.at("metrics").at("mean_absolute_error"), 0.2);
  EXPECT_NEAR(json.at("metrics").at("mean_squared_error"), json.at("test_loss").get<double>(), 1e-6);
  const Outcome eval = succeed(with({"eval"}, with_data("y.npy", {"--weights", "w.safetensors"})));
  EXPECT_NE(eval.out.find("mean absolute error 0."), std::string::npos) << eval.out;
  EXPECT_NE(eval.out.find("R² 0."), std::string::npos) << eval.out;
}

TEST_F(CliTargets, ZerosAndOnesAreLabelsOfWhichManyApply) {
  const Json json = train("labels.npy");
  EXPECT_GT(json.at("metrics").at("micro_f1"), 0.9);
  EXPECT_GT(json.at("metrics").at("mean_average_precision"), 0.95);
  EXPECT_LT(json.at("test_loss"), 0.3);
  const Json as_numbers = train("labels.npy", {"--loss", "regression"});
  EXPECT_TRUE(as_numbers.at("metrics").contains("r2")) << "a loss that was asked for stays";
}

TEST_F(CliTargets, RanksScoreAllItems) {
  if (const std::string why = why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
  for (const char* targets : {"y.npy", "labels.npy"}) {
    const Words words = with({"train"}, with_data(targets, {"--epochs", "2", "--lr", "0.1"}));
    const Json one = succeed_json(words);
    const Outcome two =
        run_in_ranks(2, with({HEADROOM_PROGRAM}, with(words, {"--json"})), folder(), environment());
    ASSERT_EQ(two.code, 0) << two.err;
    const Json said = Json::parse(two.out);
    for (const auto& [name, value] : one.at("metrics").items())
      EXPECT_NEAR(said.at("metrics").at(name), value.get<double>(), 1e-5) << name;
  }
}

}  // namespace
}  // namespace headroom::testing
