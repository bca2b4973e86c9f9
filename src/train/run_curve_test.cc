#include "train/run_curve.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace headroom {
namespace {

Json training() {
  return Json::parse(R"({"steps_per_epoch": 10, "epochs": [{"loss": 0.9}, {"loss": 0.4}], "evaluations": [
    {"step": 5, "train_s": 1, "eval_s": 0.25, "accuracy": 0.5, "loss": 2},
    {"step": 10, "train_s": 2, "eval_s": 0.5, "accuracy": 0.9, "loss": 1},
    {"step": 15, "train_s": 3, "eval_s": 0.75, "accuracy": 0.8, "loss": 1}]})");
}

TEST(RunCurve, FindsTheFirstTestThatReachesTheTarget) {
  const RunCurve curve = run_curve(training());
  ASSERT_EQ(curve.tests.size(), 3u);
  EXPECT_EQ(curve.epoch_losses, (std::vector<double>{0.9, 0.4}));
  const TestPoint* at = curve.first_at(0.7);
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(at->step, 10);
  EXPECT_EQ(at->train_seconds, 2);
  EXPECT_EQ(at->eval_seconds, 0.5);
  EXPECT_EQ(curve.epochs_at(*at), 1);
  EXPECT_EQ(curve.epochs_at(curve.tests[0]), 0.5);
  EXPECT_EQ(curve.first_at(0.9), at) << "equal is reached";
  EXPECT_EQ(curve.first_at(0.91), nullptr);
}

TEST(RunCurve, FailsOnAnotherText) {
  for (const char* field : {"steps_per_epoch", "evaluations", "epochs"}) {
    Json json = training();
    json.erase(field);
    EXPECT_THROW(run_curve(json), Error) << field;
  }
}

}  // namespace
}  // namespace headroom
