#include "profile/measurement.h"

#include <array>

#include "base/error.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr std::array<std::pair<Measurement::Source, std::string_view>, 3> kSources = {
    {{Measurement::Source::wall_clock, "wall clock"},
     {Measurement::Source::events, "events"},
     {Measurement::Source::kernel_trace, "kernel trace"}}};

}  // namespace

std::string_view name_of(Measurement::Source source) {
  for (const auto& [known, name] : kSources)
    if (known == source) return name;
  return "";
}

Measurement::Source parse_measurement_source(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [source, name] : kSources) {
    if (name == text) return source;
    names.emplace_back(name);
  }
  reject(nearest(std::string(text), names), "unknown source of a measurement, '{}'", text);
}

}  // namespace headroom
