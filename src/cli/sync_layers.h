#pragma once

#include "cli/run_setup.h"

namespace headroom::cli {

struct SyncRequest {
  bool on = false;      // --sync-layers
  bool random = false;  // --random
  int samples = 20;
};

void add_sync_options(Command verb, SyncRequest& sync);

// eval --sync-layers: a whole forward pass against the sum of its layers.
void sync_layers(const RunRequest& request, const Common& common, const SyncRequest& sync);

}  // namespace headroom::cli
