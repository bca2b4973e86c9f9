#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "profile/sample_store.h"

namespace headroom {

// One row per series: mean, min, max, last; for a counter its growth. Series without a reading are left out.
// If there are more than `max_per_core` rows of single cores, these are left out, too.
inline constexpr std::size_t kMaxPerCoreRows = 16;
Sheet series_sheet(const Samples& samples, std::size_t max_per_core = kMaxPerCoreRows);
std::size_t per_core_rows(const Samples& samples);  // how many rows single cores would need

// A chart over time: '*' is the mean within a column, ':' its range. As wide as the view, at most 100. `end`
// is the label of the last point; empty: its time.
std::string draw_series(const Series& series, const std::vector<double>& seconds, const TableView& view,
                        std::string end = {});

// One row per sample, one column per series, times in seconds since the start. A gap is an empty field.
std::string series_csv(const Samples& samples);

// Times, and for every series the figures of the sheet and the values; a gap is null.
Json to_json(const Samples& samples);
// What such an object holds. Rejects, by name, what is missing or has the wrong form.
Samples samples_from_json(const Json& json, const std::string& origin);

}  // namespace headroom
