#pragma once

#include <map>
#include <string>

#include "base/sheet.h"
#include "report/ranks.h"
#include "report/record.h"
#include "train/trainer.h"

namespace headroom {

// All inputs of a training report.
struct FinishedTraining {
  const Engine& engine;
  const Dataset& data;
  const TrainOptions& options;
  const Plan& plan;
  const std::vector<PassReport>& passes;
  const Machine& machine;
  const Prediction& prediction;
  const TrainResult& result;
  const RanksReport* ranks = nullptr;  // null with a single rank
  std::string data_name, precision;    // the user's names
  std::string optimizer;
  Json published = nullptr;  // figures of a recipe's source
  Resources resources = {};
  double wall_s = 0;
  TableView view = {};  // of the layers

  double images_per_s() const;
  bool classifier() const { return has_classes(engine.net()); }
  std::int64_t tokens_each() const { return data.train.text.empty() ? 0 : data.train.labels_each(); }
};

std::string training_text(const FinishedTraining& training);  // for people
Json training_json(const FinishedTraining& training);         // the same as JSON
RunRecord training_record(const FinishedTraining& training, std::vector<std::string> command);

}  // namespace headroom
