#include "bench/predicted_run.h"

#include <gtest/gtest.h>

#include "models/zoo.h"
#include "train/forecast.h"

namespace headroom {
namespace {

// A run that the host waits for takes the way to the device and back on top; one that is queued does not.
TEST(PredictedRun, WaitingForEveryRunCostsTheWayToTheDevice) {
  Machine machine = find_machine("h200");
  machine.launch = {.host_s = 4e-6, .graph_node_s = 0.5e-6, .wait_s = 9.5e-6, .synchronize_s = 2e-6};
  const Forecast read = forecast(find_net("mlp:hidden=32"), machine, {}, Mode::eval, 16);
  const PredictedRun queued = predicted_run(read.prediction),
                     waited = predicted_run(read.prediction, RunsAre::waited_for);
  EXPECT_NEAR(waited.seconds - queued.seconds, 7e-6, 1e-12);
  EXPECT_NEAR(waited.low - queued.low, 7e-6, 1e-12);
  EXPECT_NEAR(waited.high - queued.high, 7e-6, 1e-12);
}

TEST(PredictedRun, ACpuIsNotWaitedFor) {
  Machine machine = find_machine("h200");
  machine.kind = "cpu";
  EXPECT_EQ(default_time_model(machine).wait_s(machine), 0);
}

}  // namespace
}  // namespace headroom
