#include "base/json.h"

#include <set>
#include <string>
#include <vector>

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace headroom {
namespace {

constexpr int kDeepest = 64;

// "parse error at line 1, column 2: …" without the library's prefix "[json.exception.parse_error.101] ".
std::string message_of(const Json::exception& error) {
  const std::string what = error.what();
  const std::size_t end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

}  // namespace

Json parse_object(std::string_view text, std::string_view origin, const Hint& hint) {
  std::vector<std::set<std::string>>
      keys;  // of the objects that are open; the parser would keep the last of two
  auto checked = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) reject(hint, "{} is nested deeper than {} levels", origin, kDeepest);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      reject(hint.text.empty() ? Hint{"give it once"} : hint, "{}: \"{}\" is given twice in one object",
             origin, parsed.get<std::string>());
    return true;
  };
  if (text.find_first_not_of(" \t\r\n") == text.npos) reject(hint, "{} is empty", origin);
  try {
    Json json = Json::parse(text, checked);
    if (!json.is_object()) reject(hint, "{} does not hold a JSON object", origin);
    return json;
  } catch (const Json::exception& error) {
    reject(hint, "{} is not valid JSON: {}", origin, message_of(error));
  }
}

}  // namespace headroom
