#pragma once

#include <nlohmann/json.hpp>

namespace headroom {

// Keys keep the order they were written in, so that records read like a page.
using Json = nlohmann::ordered_json;

}  // namespace headroom
