#pragma once

#include "cli/profile_run.h"
#include "cli/run_setup.h"

namespace headroom::cli {

struct CompareKernelsRequest {
  bool on = false;  // --compare-kernels
  bool csv = false;
  std::string images;  // "100,1000"; empty: 100, 1000 and 10000, or what the data has
};

void add_compare_kernels_options(Command verb, CompareKernelsRequest& compare);

// eval --compare-kernels: a library's convolutions beside our own.
void compare_kernels(const RunRequest& request, const Common& common, const CompareKernelsRequest& compare);

}  // namespace headroom::cli
