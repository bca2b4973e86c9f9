#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace headroom {

// Keys keep the order they were written in, so that records read like a page.
using Json = nlohmann::ordered_json;

// "parse error at line 1, column 2: ..." without the library's own "[json.exception.parse_error.101] ".
inline std::string message_of(const Json::exception& error) {
  const std::string what = error.what();
  const std::size_t end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

}  // namespace headroom
