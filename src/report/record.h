#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "predict/predict.h"
#include "profile/resources.h"
#include "report/ranks.h"
#include "train/trainer.h"

namespace headroom {

// The run record: one JSON file from which any report can be made, anywhere. docs/run-record.schema.json
// defines it; kRecordVersion changes when a reader of the old form would misread the new.
inline constexpr int kRecordVersion = 1;

struct RunRecord {
  std::vector<std::string> command;
  const Engine* engine = nullptr;
  const Plan* plan = nullptr;
  const Machine* machine = nullptr;
  const Prediction* prediction = nullptr;
  const TrainResult* result = nullptr;
  std::string data;
  double wall_s = 0;
  Resources resources;
  const RanksReport* ranks = nullptr;  // of several
};

Json to_json(const RunRecord& record);

// Parts of it that --json output shares.
Json plan_json(const Plan& plan);
Json prediction_json(const Plan& plan, const Prediction& prediction);
Json epoch_json(const EpochResult& epoch, bool classifier);
Json spread_json(const Spread& seconds);  // milliseconds: median, p10, p90, samples

}  // namespace headroom
