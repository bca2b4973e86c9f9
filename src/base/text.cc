#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/units.h"

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
  // The dashes of options and the device of a kernel ("cuda:") are not letters of the word.
  const std::size_t colon = wrong.find(':');
  std::size_t shared = colon == std::string_view::npos ? 0 : colon + 1;
  if (wrong.starts_with("--")) shared = 2;
  if (!best->starts_with(wrong.substr(0, shared))) shared = 0;
  if (edit_distance(wrong, *best) * 2 <= std::max(wrong.size(), best->size()) - shared)
    return {fmt::format("did you mean '{}'?", *best)};
  constexpr std::size_t kMaxListed = 24;
  if (names.size() <= kMaxListed) return {fmt::format("known: {}", fmt::join(names, ", "))};
  std::vector<std::string> sorted(names.begin(), names.end());
  std::ranges::stable_sort(sorted, {}, [&](const std::string& name) { return farness(wrong, name); });
  sorted.resize(kMaxListed / 2);
  return {fmt::format("known: {} and {} more", fmt::join(sorted, ", "), names.size() - sorted.size())};
}

std::vector<Setting> parse_settings(std::string_view text, std::string_view what, std::string_view example) {
  std::vector<Setting> settings;
  if (text.empty()) return settings;
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      reject(Hint{fmt::format("write {}", example)}, "{} '{}' has no {}", what, item,
             equals == 0 ? "name" : "value");
    settings.push_back({item.substr(0, equals), item.substr(equals + 1)});
    const std::string& name = settings.back().name;
    if (std::ranges::count(settings, name, &Setting::name) > 1)
      reject(Hint{"give it once"}, "{} '{}' is given twice", what, name);
  }
  return settings;
}

namespace {

// The length of the UTF-8 character at the front of a text; 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80                      ? 1
                             : byte(0) >= 0xC2 && byte(0) < 0xE0 ? 2
                             : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                             : byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4
                                                                 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    std::size_t length = utf8_length(text);
    // U+0080 to U+009F are control characters, too: 0x9b alone begins an escape sequence.
    const bool c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    const bool kept = lines && (first == '\n' || first == '\t');
    const bool safe = kept || (length > 0 && first >= 0x20 && first != 0x7F && !c1);
    length = std::max<std::size_t>(length, 1);
    if (safe)
      out += text.substr(0, length);
    else
      for (const char c : text.substr(0, length))
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    text.remove_prefix(length);
  }
  return out;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
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

double parse_duration(std::string_view text, std::string_view what) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  std::string_view number = text;
  double factor = 1;
  for (const auto& [unit, seconds] : kUnits)
    if (text.ends_with(unit)) {
      number.remove_suffix(unit.size());
      factor = seconds;
      break;
    }
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || !std::isfinite(value) || value <= 0)
    reject(Hint{"write 500ms, 180s, 3m or 2h"}, "{} is '{}', which is not a duration", what, text);
  return value * factor;
}

}  // namespace headroom
