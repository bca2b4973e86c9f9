#include "train/run_state.h"
#include "base/json.h"

namespace headroom {

Json to_json(const RunState& state) {
  Json epochs = Json::array();
  for (const EpochResult& e : state.epochs)
    epochs.push_back({{"epoch", e.epoch},
                      {"loss", e.loss},
                      {"train_accuracy", e.train_accuracy},
                      {"test_accuracy", e.test_accuracy},
                      {"test_loss", e.test_loss},
                      {"seconds", e.seconds}});
  return {{"steps", state.steps},
          {"epoch", state.epoch},
          {"batch", state.batch},
          {"first_loss", state.first_loss},
          {"last_loss", state.last_loss},
          {"tally",
           {{"loss", state.tally.loss}, {"correct", state.tally.correct}, {"images", state.tally.images}}},
          {"epochs", epochs}};
}

RunState run_state_from(const Json& json) {
  RunState state{
      .steps = json.at("steps"),
      .epoch = json.at("epoch"),
      .batch = json.at("batch"),
      .first_loss = json.at("first_loss"),
      .last_loss = json.at("last_loss"),
      .tally = {json.at("tally").at("loss"), json.at("tally").at("correct"), json.at("tally").at("images")},
      .epochs = {}};
  for (const Json& e : json.at("epochs"))
    state.epochs.push_back({e.at("epoch"), e.at("loss"), e.at("train_accuracy"), e.at("test_accuracy"),
                            e.at("test_loss"), e.at("seconds")});
  return state;
}

}  // namespace headroom
