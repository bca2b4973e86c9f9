#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headroom {

std::vector<std::string> split(std::string_view text, char separator);

// "a=1,b=2" as names and values. Rejects an item without a value and a name that is given twice. `what`
// begins the message: "model option"; `example` ends it: "mlp:name=value".
struct Setting {
  std::string name, value;
};
std::vector<Setting> parse_settings(std::string_view text, std::string_view what, std::string_view example);

// The text with control characters and bytes that are not UTF-8 as \x1b: names from files must not steer a
// terminal. Newlines and tabs stay if `lines`.
std::string printable(std::string_view text, bool lines = false);

std::string counted(std::int64_t count, std::string_view noun);  // 1 thread, 2 threads, 10,000 images

// "did you mean 'lenet5'?" if one of the names is close to the misspelt one, otherwise a list of them
// (of a long list, the nearest).
Hint nearest(std::string_view wrong, std::span<const std::string> names);

// Strict parsers: the whole text must be the number, and finite. `what` names the field in the error message.
std::int64_t parse_int(std::string_view text, std::string_view what);
double parse_double(std::string_view text, std::string_view what);

// "500ms", "180s", "3m", "2h", or plain seconds, as seconds above 0.
double parse_duration(std::string_view text, std::string_view what);

}  // namespace headroom
