#include "train/run_curve.h"

#include <algorithm>

#include "base/json.h"

namespace headroom {

const TestPoint* RunCurve::first_at(double accuracy) const {
  const auto found =
      std::ranges::find_if(tests, [&](const TestPoint& test) { return test.accuracy >= accuracy; });
  return found == tests.end() ? nullptr : &*found;
}

RunCurve run_curve(const Json& training) {
  try {
    RunCurve curve{.steps_per_epoch = training.at("steps_per_epoch")};
    for (const Json& test : training.at("evaluations"))
      curve.tests.push_back({.step = test.at("step"),
                             .train_seconds = test.at("train_s"),
                             .eval_seconds = test.at("eval_s"),
                             .accuracy = test.value("accuracy", 0.0),
                             .loss = test.at("loss")});
    for (const Json& epoch : training.at("epochs")) curve.epoch_losses.push_back(epoch.at("loss"));
    return curve;
  } catch (const Json::exception& error) {
    fail("a training's result cannot be read: {}", error.what());
  }
}

}  // namespace headroom
