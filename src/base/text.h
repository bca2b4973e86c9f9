#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headroom {

std::vector<std::string> split(std::string_view text, char separator);

// "did you mean 'lenet5'?" if one of the names is close to the misspelt one, otherwise a list of them.
Hint nearest(std::string_view wrong, std::span<const std::string> names);

// Strict parsers: the whole text must be the number, and finite. `what` names the field in the error message.
std::int64_t parse_int(std::string_view text, std::string_view what);
double parse_double(std::string_view text, std::string_view what);

}  // namespace headroom
