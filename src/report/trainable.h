#pragma once

// Which values of a network training changes, and why it does not change the others.

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/shape.h"
#include "base/sheet.h"
#include "headroom/net.h"

namespace headroom {

struct TrainableRow {
  std::string name;
  Shape shape;
  bool parameter = false;  // counts among the network's parameters
  bool trained = false;
  std::string reason;  // why not
};

struct TrainableList {
  std::string model;
  std::vector<TrainableRow> rows;  // parameters, statistics, then constants of a file
  std::string gap;                 // not empty: why this network cannot be trained here at all
  std::int64_t trained() const;
  std::int64_t parameters() const;
};

// `freeze`: the patterns of a training with `freeze`.
TrainableList trainable_list(const Net& net, std::int64_t batch, const std::vector<std::string>& freeze);

std::string trainable_text(const TrainableList& list, const TableView& view = {});
Json trainable_json(const TrainableList& list);

}  // namespace headroom
