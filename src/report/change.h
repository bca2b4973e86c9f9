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

// A median, and where the true one lies with at least 95 % confidence. Both bounds are 0 if there are too few
// samples to tell.
struct MedianInterval {
  Spread spread = {};
  double low = 0, high = 0;
  bool known() const { return high > 0; }
};

// The bounds are order statistics, which holds for any distribution. They also cover the medians of the first
// and of the second half: samples of a run that drifted are not independent, and say less than their number.
MedianInterval median_interval(const std::vector<double>& seconds);

// Faster or slower: the intervals do not overlap, and the difference may be more than kSameWithin. Same: even
// the far ends of the intervals differ by less. Unsure: anything else.
Change judge(const MedianInterval& before, const MedianInterval& after);

}  // namespace headroom
