#pragma once

#include "train/program.h"

namespace headroom {

inline constexpr const char* kLossLayer = "loss";

// Rejects a network that cannot be fed with images and labels.
void require_one_input(const Program& program, const Net& net);

// The loss is the mean over all rows of the batch on all ranks: `global_batch` items (0: only those here).
// `label_smoothing`: this share of the target is divided equally among all classes.
void add_loss(Program& program, const Net& net, std::int64_t batch, std::int64_t global_batch,
              double label_smoothing = 0);

// The penalty changes only the reported number: its gradient is part of the update.
void add_penalty(Program& program, double l2);

// The same if ranks share the work: each rank adds up what it holds alone; the first rank adds what all hold.
// The sum is reported; it is ready in the update phase.
void add_ranks_report(Program& program, double l2, const Distribution& ranks);

// Training sums loss and correct answers on the device; see ops/tally.
void add_tally(Program& program, std::int64_t batch);

}  // namespace headroom
