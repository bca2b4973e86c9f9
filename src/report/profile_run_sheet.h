#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "profile/run_facts.h"

namespace headroom {

// T9: what the run ran on, and what its process used.
Sheet run_sheet(const std::vector<RunFact>& facts);

Json to_json(const std::vector<RunFact>& facts);
// Rejects, by name, what is not a list of facts.
std::vector<RunFact> facts_from_json(const Json& json, const std::string& origin);

}  // namespace headroom
