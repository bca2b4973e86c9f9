#pragma once

#include <cstdint>
#include <vector>

#include "base/json_fwd.h"

namespace headroom {

struct EpochResult {
  std::int64_t epoch = 0;
  double loss = 0;            // mean over the epoch's steps, as they ran
  double train_accuracy = 0;  // of the epoch's steps, as they ran: each batch before its update
  double test_accuracy = 0;   // after the epoch
  double test_loss = 0;
  double seconds = 0;  // training alone
};

// The sums from which an epoch is reported.
struct Tally {
  double loss = 0, correct = 0;
  std::int64_t images = 0;
  void add(double batch_loss, double batch_correct, std::int64_t count) {
    loss += batch_loss * static_cast<double>(count);
    correct += batch_correct;
    images += count;
  }
};

// The state of a run between two steps: everything except tensors.
struct RunState {
  std::int64_t steps = 0;             // done so far
  std::int64_t epoch = 0, batch = 0;  // the next batch to take, both from 0
  double first_loss = 0, last_loss = 0;
  Tally tally;  // of the current epoch
  std::vector<EpochResult> epochs;
};

Json to_json(const RunState& state);
RunState run_state_from(const Json& json);  // throws if a field is missing or of another kind

}  // namespace headroom
