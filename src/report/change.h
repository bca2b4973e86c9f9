#pragma once

#include <string_view>
#include <vector>

#include "base/units.h"

namespace headroom {

// The verdict about two times. `added` and `gone`: the other side does not have the row.
enum class Change { same, faster, slower, unsure, added, gone };
std::string_view name_of(Change change);  // "same", …, "new", "gone"

// A difference below this share is "same" even if it is real: two runs of one program differ by that much.
inline constexpr double kSameWithin = 0.02;

// A median and how sure it is. All bounds are 0 if there are too few samples to tell.
struct MedianInterval {
  Spread spread = {};
  double low = 0, high = 0;        // the true median, with 95 % confidence
  double lowest = 0, highest = 0;  // the same, extended to the medians of consecutive parts of the run
  bool known() const { return high > 0; }
};

// `low` and `high` are order statistics, which is right for any distribution of independent samples. Samples
// of one run are not independent: other programs come and go, clocks change. Medians of its parts show that.
MedianInterval median_interval(const std::vector<double>& seconds);

// Faster or slower: the medians differ by more than kSameWithin, and the extended intervals do not overlap.
// Same: the 95 % intervals lie within kSameWithin of each other. Unsure: anything else.
Change judge(const MedianInterval& before, const MedianInterval& after);

}  // namespace headroom
