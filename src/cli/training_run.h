#pragma once

#include "cli/options.h"
#include "cli/profile_run.h"
#include "cli/run_setup.h"

namespace headroom::cli {

// Model and recipe are not among these. How to learn, from what, on what:
void add_learning_options(Command verb, RunRequest& request, Common& common);
void add_comparison_options(Command verb, RunRequest& request);
// These, and everything about files, checkpoints and ranks.
void add_training_options(Command verb, RunRequest& request, Common& common);

// Trains, shows progress, prints the layer table and the closing lines (or the JSON object), and writes the
// requested files. `train` and `demo` differ only in their request.
void training_run(const RunRequest& request, const Common& common, bool demo);

// The same, watched. `until_seen`: it ends with the last step that is watched, and prints the profile instead
// of the result.
void profiled_training_run(const RunRequest& request, const Common& common, const ProfileOptions& profile,
                           bool until_seen);

// Only the profile of such a run: nothing is printed or written.
RunProfile profile_of_training(const RunRequest& request, const Common& common,
                               const ProfileOptions& profile);

}  // namespace headroom::cli
