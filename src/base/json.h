#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_fwd.h"

extern template class nlohmann::basic_json<nlohmann::ordered_map>;  // in json.cc alone

namespace headroom {

// A JSON object from an untrusted file. `origin` names the source; an error says where the text stops being
// an object. Rejects deep nesting, because copies and messages would recurse into it.
Json parse_object(std::string_view text, std::string_view origin, const Hint& hint = {});

}  // namespace headroom
