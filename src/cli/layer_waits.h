#pragma once

#include "cli/run_setup.h"

namespace headroom::cli {

struct LayerWaitsRequest {
  bool on = false;      // --sync-layers
  bool random = false;  // --random
  int samples = 20;
};

void add_layer_waits_options(Command verb, LayerWaitsRequest& sync);

// eval --sync-layers: a whole forward pass compared with the sum of its layers.
void time_layer_waits(const RunRequest& request, const Common& common, const LayerWaitsRequest& sync);

}  // namespace headroom::cli
