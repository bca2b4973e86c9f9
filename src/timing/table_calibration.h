#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "timing/calibration.h"
#include "timing/timing_table.h"

namespace headroom {

// How to judge a fit on rows it did not see.
struct Holdout {
  std::size_t rows = 0;    // fit this many rows of a group, chosen at random; all repeats of a shape; 0: all
  std::uint64_t seed = 0;  // of the choice
  std::string left_out;    // with several devices: the one to judge on; empty: none
};

struct CalibratedPart {
  std::string group, judged_on;  // "unseen rows", "devices left out", "700 other rows", "l40s"
  std::size_t fitted = 0;
  JudgedErrors errors;
  std::vector<Outlier> outliers;
};
struct TableCalibration {
  Calibration calibration;
  std::vector<CalibratedPart> parts;
  std::vector<std::string> notes;
};

// Fits each group of a table's rows of one machine. Rows of other devices are left aside. `group`: that of
// all rows, as the user gave it; empty: each row's own.
TableCalibration calibrate_table(const TimingTable& table, const std::string& machine, const Holdout& holdout,
                                 const std::string& group = "");
// Fits what the devices of the table share.
TableCalibration calibrate_table_shared(const TimingTable& table, const Holdout& holdout,
                                        const std::string& group = "");

}  // namespace headroom
