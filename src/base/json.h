#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "base/error.h"

namespace headroom {

// Keys keep the order they were written in, so that records read like a page.
using Json = nlohmann::ordered_json;

// A JSON object out of a file somebody else may have written. `origin` says whose text it is; an error says
// where the text ceases to be an object. Deep nesting is refused: copies and messages would recurse into it.
Json parse_object(std::string_view text, std::string_view origin, const Hint& hint = {});

}  // namespace headroom
