#pragma once

#include <string_view>

#include "base/table_view.h"
#include "report/profile.h"

namespace headroom {

// What tables, JSON and the verbs say of a profile without a watched step.
inline constexpr std::string_view kNothingWatched =
    "The run ended before a step could be watched: it needs more steps.";

// Every table of a profile that has rows, by name: the files and the JSON hold them all.
std::vector<Sheet> profile_sheets(const RunProfile& profile);

// What the verb prints: the step, the layers, the kernels that matter, and what else can be seen.
std::string profile_text(const RunProfile& profile, const TableView& view, const TableView& layers);
Json profile_json(const RunProfile& profile);
std::string profile_card(const RunProfile& profile, const std::string& kernel);
Sheet profile_cards(const RunProfile& profile, const std::string& kernel);  // the same, a row per card

}  // namespace headroom
