#pragma once

#include "cli/options.h"
#include "cli/run_setup.h"

namespace headroom::cli {

// Trains, shows progress, prints the layer table and the closing lines (or the JSON object), writes what was
// asked for. `train` and `demo` differ only in their request.
void training_run(const RunRequest& request, const Common& common, bool demo);

}  // namespace headroom::cli
