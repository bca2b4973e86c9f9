#pragma once

#include "cli/options.h"
#include "cli/record_files.h"

namespace headroom::cli {

inline constexpr double kCalibrateSeconds = 60;

struct CalibrateDevice {
  std::string precisions;  // with commas between them; empty: the usual ones of the device
  double seconds = kCalibrateSeconds;
  std::string constants;  // a file for the constants alone; empty: none
  RecordFiles files = {};
};
// Times random networks on a device, fits the constants of its kernels, saves them beside the measured
// machine, and prints how well they predict what they were not fitted to.
void run_calibrate_device(Common common, const CalibrateDevice& request);
// Fits the timings of such a calibration again, by the rules of this program, and writes them to the same
// file.
void run_refit(const std::string& file, const Common& common);

}  // namespace headroom::cli
