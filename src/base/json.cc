#include "base/json.h"

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
  auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) reject(hint, "{} is nested deeper than {} levels", origin, kDeepest);
    return true;
  };
  try {
    Json json = Json::parse(text, shallow);
    if (!json.is_object()) reject(hint, "{} does not hold a JSON object", origin);
    return json;
  } catch (const Json::exception& error) {
    reject(hint, "{} is not valid JSON: {}", origin, message_of(error));
  }
}

}  // namespace headroom
