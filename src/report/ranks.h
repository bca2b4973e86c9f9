#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "train/rank_times.h"

namespace headroom {

// "data parallel on 3 ranks", "2 x 2: …"
std::string describe(const Distribution& distribution);
// A table and the notes below it.
std::string ranks_text(const RanksReport& report, const TableView& view = {});
Json to_json(const RanksReport& report);

}  // namespace headroom
