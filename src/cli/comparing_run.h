#pragma once

#include "cli/run_setup.h"

namespace headroom::cli {

// train --check-against: the same training on two devices, and the distance of their weights at the end.
void comparing_run(const RunRequest& request, const Common& common);

}  // namespace headroom::cli
