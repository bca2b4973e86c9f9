#pragma once

#include "cli/options.h"

namespace headroom::cli {

inline constexpr double kCalibrateSeconds = 60;

// Times random networks on a device for so many seconds, fits the constants of its kernels, saves them beside
// the measured machine, and prints how well they predict what they were not fitted to.
void run_calibrate_device(const Common& common, double seconds);

}  // namespace headroom::cli
