#pragma once

#include <memory>

#include "cli/run_setup.h"
#include "cli/saving.h"
#include "train/checkpoint.h"

namespace headroom::cli {

// Resumes an earlier run on request and sets up this run's own checkpoints. A checkpoint that cannot be
// written is remembered in `saving`. The folder must outlive the training; null without one.
std::unique_ptr<CheckpointFolder> prepare_checkpoints(const RunRequest& request, const RankRun& ranks,
                                                      Engine& engine, const Dataset& data,
                                                      TrainOptions& train, Saving& saving);

}  // namespace headroom::cli
