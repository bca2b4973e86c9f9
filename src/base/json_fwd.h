#pragma once

#include <nlohmann/json_fwd.hpp>

namespace headroom {

// Keys keep the order of writing, so that records are readable. Headers that only pass it on include this
// file: the whole of it (base/json.h) costs every file that sees it half a second of compiling.
using Json = nlohmann::ordered_json;

}  // namespace headroom
