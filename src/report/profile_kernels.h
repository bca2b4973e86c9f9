#pragma once

#include <string>
#include <string_view>

#include "base/sheet.h"
#include "profile/trace.h"

namespace headroom {

// Time by name, the largest first, in the order and words of nsys: % time, total, calls, average, min, max,
// median, name. About the trace's windows. A name is printed short; CSV and JSON have both.
Sheet kernels_sheet(const Trace& trace);  // on a CPU the steps of the plan play that role
Sheet calls_sheet(const Trace& trace);    // of the CUDA runtime and driver

// How many rows of one of these tables together exceed 90 % of its time.
struct Majority {
  std::int64_t rows = 0, of = 0;
  double percent = 0;
};
Majority majority_of(const Sheet& sheet);
// "3 of 12 kernels take 91.2 % of the kernel time."; empty for an empty table.
std::string majority_sentence(const Sheet& sheet, std::string_view noun, std::string_view time);

}  // namespace headroom
