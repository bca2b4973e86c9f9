#pragma once

// Reading one JSON object of a machine file: every error names the file, the path of the field and what is
// wrong.

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace headroom::machine_fields {

inline constexpr std::array<const char*, 10> kPrecisions = {
    "fp64", "fp64_tensor", "fp32", "tf32", "fp16_vector", "fp16", "bf16", "fp8", "fp4", "int8"};

// What a figure may be on any machine of the past twenty years or the next ten. A figure outside of it is a
// slip, usually of its unit; a floor made from it would be nonsense.
struct Range {
  double low, high;
  const char* unit;
};
inline constexpr Range kFlops = {1e8, 1e17, "FLOP/s"};
inline constexpr Range kCacheBytes = {256, 1e11, "B"}, kCacheRate = {1e8, 1e15, "B/s"};
inline constexpr Range kMemoryBytes = {1e6, 1e14, "B"}, kMemoryRate = {1e8, 1e14, "B/s"};
inline constexpr Range kOnChipBytes = {256, 1e9, "B"};
inline constexpr Range kLinkRate = {1e4, 1e14, "B/s"};
inline constexpr Range kDelay = {1e-9, 1, "s"};
inline constexpr Range kClock = {1e6, 2e10, "Hz"};
inline constexpr Range kWatts = {0.01, 1e5, "W"};

class Fields {
 public:
  Fields(const Json& json, std::string_view origin, std::string path)
      : json_(json), origin_(origin), path_(std::move(path)) {
    if (!json.is_object()) complain("", "is {}, not an object", json.type_name());
  }

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& need(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) complain(key, "is missing");
    return *value;
  }

  std::string text(const char* key, const char* otherwise = nullptr) const {
    if (otherwise != nullptr && find(key) == nullptr) return otherwise;
    return string_of(need(key), key);
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> list;
    const Json* value = find(key);
    if (value == nullptr) return list;
    if (!value->is_array()) complain(key, "is {}, not a list", value->type_name());
    for (const Json& item : *value) list.push_back(string_of(item, key));
    return list;
  }
  std::map<std::string, std::string> words(const char* key) const {
    std::map<std::string, std::string> result;
    if (find(key) == nullptr) return result;
    const Fields inner = part(key);
    for (const auto& [name, value] : inner.json_.items()) result[name] = inner.text(name.c_str());
    return result;
  }
  // A rate, capacity or time: above 0 and plausible if given; 0 if not given.
  double amount(const char* key, const Range& range) const {
    return find(key) == nullptr ? 0 : need_amount(key, range);
  }
  double need_amount(const char* key, const Range& range) const {
    return plausible(key, positive(key, need(key)), range);
  }
  // A list of them; empty if not given.
  std::vector<double> amounts(const char* key, const Range& range) const {
    std::vector<double> list;
    const Json* value = find(key);
    if (value == nullptr) return list;
    if (!value->is_array()) complain(key, "is {}, not a list", value->type_name());
    for (const Json& item : *value) list.push_back(plausible(key, positive(key, item), range));
    return list;
  }
  int count(const char* key, int highest = 1'000'000) const {
    if (find(key) == nullptr) return 0;
    const double number = positive(key, need(key));
    if (number != std::floor(number) || number > highest)
      complain(key, "is {:g}, not a whole number from 1 to {}", number, highest);
    return static_cast<int>(number);
  }
  bool flag(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && !value->is_boolean())
      complain(key, "is {}, not true or false", value->type_name());
    return value != nullptr && value->get<bool>();
  }

  std::map<std::string, double> peaks(const char* key) const {
    std::map<std::string, double> rates;
    const Fields inner = part(key, kPrecisions);
    for (const auto& [precision, value] : inner.json_.items())
      rates[precision] = inner.need_amount(precision.c_str(), kFlops);
    return rates;
  }

  // An object; empty if absent.
  Fields part(const char* key) const {
    static const Json kNothing = Json::object();
    return {find(key) == nullptr ? kNothing : need(key), origin_, where(key)};
  }
  // The same with known names only.
  template <class Names>
  Fields part(const char* key, const Names& names) const {
    const Fields inner = part(key);
    inner.only(names);
    return inner;
  }
  Fields part(const char* key, std::initializer_list<const char*> names) const {
    return part<std::initializer_list<const char*>>(key, names);
  }

  template <class Names>
  void only(const Names& names) const {
    const std::vector<std::string> known(std::begin(names), std::end(names));
    for (const auto& [key, value] : json_.items())
      if (std::ranges::find(known, key) == known.end())
        throw Error(Blame::request, fmt::format("{}: unknown field '{}'", origin_, where(key)),
                    nearest(key, known));
  }

  template <class... Args>
  [[noreturn]] void complain(std::string_view key, fmt::format_string<Args...> what, Args&&... args) const {
    const std::string field = where(key);
    const std::string subject = field.empty() ? "the whole" : fmt::format("field '{}'", field);
    reject("{}: {} {}", origin_, subject, fmt::format(what, std::forward<Args>(args)...));
  }

 private:
  std::string where(std::string_view key) const {
    return key.empty() || path_.empty() ? path_ + std::string(key) : path_ + "." + std::string(key);
  }
  std::string string_of(const Json& value, const char* key) const {
    if (!value.is_string()) complain(key, "is {}, not text", value.type_name());
    return value.get<std::string>();
  }
  double plausible(const char* key, double number, const Range& range) const {
    if (number < range.low || number > range.high)
      complain(key, "is {:g} {}, which no machine has; plausible: {:g} to {:g} {}", number, range.unit,
               range.low, range.high, range.unit);
    return number;
  }
  double positive(const char* key, const Json& value) const {
    if (!value.is_number()) complain(key, "is {}, not a number", value.type_name());
    const double number = value.get<double>();
    if (!std::isfinite(number) || number <= 0) complain(key, "is {}; it must be above 0", number);
    return number;
  }

  const Json& json_;
  std::string_view origin_;
  std::string path_;
};

}  // namespace headroom::machine_fields
