#pragma once

#include "cli/options.h"
#include "cli/run_setup.h"

namespace headroom::cli {

// Trains, shows progress, prints the layer table and the closing lines (or the JSON object), and writes the
// requested files. `train` and `demo` differ only in their request.
void training_run(const RunRequest& request, const Common& common, bool demo);

}  // namespace headroom::cli
