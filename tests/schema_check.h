#pragma once

// The part of JSON Schema draft 07 that docs/run-record.schema.json uses: type, const, enum, required,
// properties, additionalProperties, items, minItems, maxItems, minimum, exclusiveMinimum, maximum, minLength
// and dependencies.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"

namespace headroom::testing {

inline bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer")  // 2.0 is one, too
    return value.is_number() && value.get<double>() == std::floor(value.get<double>());
  return type == "number" && value.is_number();
}

// The limits of a number, and of the length of a text or a list.
inline void check_limits(const Json& schema, const Json& value, const std::string& path,
                         std::vector<std::string>& wrong) {
  const auto limit = [&](const char* key) { return schema[key].get<double>(); };
  if (value.is_number()) {
    const double number = value.get<double>();
    if (schema.contains("minimum") && number < limit("minimum")) wrong.push_back(path + " is too small");
    if (schema.contains("exclusiveMinimum") && number <= limit("exclusiveMinimum"))
      wrong.push_back(path + " is too small");
    if (schema.contains("maximum") && number > limit("maximum")) wrong.push_back(path + " is too large");
  }
  if (value.is_string() && schema.contains("minLength") &&
      double(value.get<std::string>().size()) < limit("minLength"))
    wrong.push_back(path + " is too short");
  if (!value.is_array()) return;
  if (schema.contains("minItems") && double(value.size()) < limit("minItems"))
    wrong.push_back(path + " has too few items");
  if (schema.contains("maxItems") && double(value.size()) > limit("maxItems"))
    wrong.push_back(path + " has too many items");
}

inline void check_object(const Json& schema, const Json& value, const std::string& path,
                         std::vector<std::string>& wrong);

// Collects every error with its path; none if the value fits.
inline void check_schema(const Json& schema, const Json& value, const std::string& path,
                         std::vector<std::string>& wrong) {
  if (schema.contains("type") && !has_type(value, schema["type"]))
    return wrong.push_back(fmt::format("{} is not of type {}", path, schema["type"].dump()));
  if (schema.contains("const") && value != schema["const"]) wrong.push_back(path + " has another value");
  if (schema.contains("enum")) {
    const Json& list = schema["enum"];
    if (std::find(list.begin(), list.end(), value) == list.end())
      wrong.push_back(fmt::format("{} is {}", path, value.dump()));
  }
  check_limits(schema, value, path, wrong);
  if (value.is_array() && schema.contains("items"))
    for (std::size_t i = 0; i < value.size(); ++i)
      check_schema(schema["items"], value[i], fmt::format("{}[{}]", path, i), wrong);
  if (value.is_object()) check_object(schema, value, path, wrong);
}

inline void check_object(const Json& schema, const Json& value, const std::string& path,
                         std::vector<std::string>& wrong) {
  auto demand = [&](const Json& keys) {
    for (const Json& key : keys)
      if (!value.contains(key.get<std::string>()))
        wrong.push_back(fmt::format("{}.{} is missing", path, key.get<std::string>()));
  };
  if (schema.contains("required")) demand(schema["required"]);
  if (schema.contains("dependencies"))
    for (const auto& [key, keys] : schema["dependencies"].items())
      if (value.contains(key)) demand(keys);
  const Json known = schema.value("properties", Json::object());
  const Json others = schema.value("additionalProperties", Json(true));
  for (const auto& [key, inner] : value.items()) {
    if (known.contains(key))
      check_schema(known[key], inner, path + "." + key, wrong);
    else if (others.is_object())
      check_schema(others, inner, path + "." + key, wrong);
    else if (!others.get<bool>())
      wrong.push_back(fmt::format("{}.{} is not allowed", path, key));
  }
}

}  // namespace headroom::testing
