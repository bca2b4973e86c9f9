#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

// Letters inserted, dropped, changed or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = previous[j - 1] + (a[i - 1] != b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous.back();
}

// Among equally distant names, prefers one with the same beginning: people misspell the end of known words.
std::pair<std::size_t, std::ptrdiff_t> farness(std::string_view wrong, std::string_view name) {
  const auto differ = std::mismatch(wrong.begin(), wrong.end(), name.begin(), name.end());
  return {edit_distance(wrong, name), wrong.begin() - differ.first};
}

template <class T>
T parse_number(std::string_view text, std::string_view what, std::string_view kind) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    reject("{} is '{}', which is not {}", what, text, kind);
  return value;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

Hint nearest(std::string_view wrong, std::span<const std::string> names) {
  if (names.empty()) return {};
  const auto best = std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return farness(wrong, a) < farness(wrong, b);
  });
  // A word with more than half of its letters changed is not a misspelling.
  if (edit_distance(wrong, *best) * 2 <= std::max(wrong.size(), best->size()))
    return {fmt::format("did you mean '{}'?", *best)};
  return {fmt::format("known: {}", fmt::join(names, ", "))};
}

std::int64_t parse_int(std::string_view text, std::string_view what) {
  return parse_number<std::int64_t>(text, what, "a whole number");
}

double parse_double(std::string_view text, std::string_view what) {
  const double value = parse_number<double>(text, what, "a number");
  if (!std::isfinite(value))
    reject("{} is '{}', which is not a number", what, text);  // from_chars accepts "nan"
  return value;
}

}  // namespace headroom
