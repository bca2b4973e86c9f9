#include "data/preprocess.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace headroom {
namespace {

std::vector<double> numbers(std::string_view text) {
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) values.push_back(parse_double(part, "`normalize`"));
  return values;
}

Preprocess parse_normalize(std::string_view text) {
  const Hint forms{"write `normalize` 0.5,0.25, or 0.49,0.48,0.45/0.25,0.24,0.26 for three channels"};
  Preprocess p;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    const std::vector<double> both = numbers(text);
    if (both.size() != 2)
      reject(forms, "`normalize` is '{}': a mean and a deviation are two numbers, not {}", text, both.size());
    p.mean = {both[0]};
    p.deviation = {both[1]};
  } else {
    p.mean = numbers(text.substr(0, slash));
    p.deviation = numbers(text.substr(slash + 1));
    if (p.mean.size() != p.deviation.size())
      reject(forms, "`normalize` is '{}': {} means do not go with {} deviations", text, p.mean.size(),
             p.deviation.size());
  }
  for (const double deviation : p.deviation)
    if (deviation <= 0) reject(forms, "`normalize` is '{}': a deviation must be above 0", text);
  return p;
}

}  // namespace

Preprocess usual_preprocess(std::string_view data) {
  const std::string_view name = data.substr(0, data.find(':'));
  if (name == "mnist" || name == "glyphs") return {};
  if (name == "fashion-mnist") return {1.0 / 255, {0.2860}, {0.3530}};
  if (name == "cifar10") return {1.0 / 255, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
  return {1.0 / 255, {0.5}, {0.5}};
}

Preprocess parse_preprocess(std::string_view pixels, std::string_view normalize, const Preprocess& usual) {
  const std::vector<std::string> kinds = {"raw", "scaled", "normalized"};
  if (!pixels.empty() && std::find(kinds.begin(), kinds.end(), pixels) == kinds.end())
    reject(nearest(pixels, kinds), "`pixels` is '{}', which is not a known kind", pixels);
  if (!normalize.empty()) {
    if (!pixels.empty() && pixels != "normalized")
      reject(Hint{"give only one of the two"}, "`pixels` {} and `normalize` contradict each other", pixels);
    return parse_normalize(normalize);
  }
  if (pixels == "raw") return Preprocess::raw();
  if (pixels == "scaled") return Preprocess::scaled();
  return usual;
}

void require_sound(const Preprocess& preprocess, std::int64_t channels) {
  for (const auto& [values, what] :
       {std::pair{&preprocess.mean, "means"}, std::pair{&preprocess.deviation, "deviations"}}) {
    const auto there = static_cast<std::int64_t>(values->size());
    if (there != 1 && there != channels)
      reject(Hint{"give one number, or one per channel: `normalize`"},
             "{} {} cannot normalise images of {} channel{}", there, what, channels,
             channels == 1 ? "" : "s");
  }
  for (const double deviation : preprocess.deviation)
    if (deviation == 0) reject("pixels cannot be divided by a deviation of 0");
}

}  // namespace headroom
