#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace headroom {
namespace {

std::string three_figures(double value) {
  const double size = std::abs(value);  // 9.996 prints as 10.0: the limits are where rounding carries
  if (size >= 99.95 || size == 0) return fmt::format("{:.0f}", value);
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string si(double value, const char* unit) {
  constexpr std::array<const char*, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) value /= 1000, ++prefix;
  return fmt::format("{} {}{}", three_figures(value), kPrefixes[prefix], unit);
}

std::string human_bytes(double bytes) { return si(bytes, "B"); }

std::string human_seconds(double s) {
  const double whole = std::round(s);
  if (whole >= 120) return fmt::format("{:.0f} min {:.0f} s", std::floor(whole / 60), std::fmod(whole, 60));
  if (s >= 0.9995) return three_figures(s) + " s";
  if (s >= 0.9995e-3) return three_figures(s * 1e3) + " ms";
  return s >= 0.9995e-6 ? three_figures(s * 1e6) + " us" : three_figures(s * 1e9) + " ns";
}

std::string fixed_or_small(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-3) return fmt::format("{:.2e}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return size >= 10 ? fmt::format("{:.2f}", value) : fmt::format("{:.4f}", value);
}

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  // Linear interpolation between the two neighbours of the wanted rank.
  auto at = [&](double q) {
    const double rank = q * static_cast<double>(samples.size() - 1);
    const auto low = static_cast<std::size_t>(rank);
    const std::size_t high = std::min(low + 1, samples.size() - 1);
    return samples[low] + (rank - static_cast<double>(low)) * (samples[high] - samples[low]);
  };
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {.median = at(0.5),
          .p10 = at(0.1),
          .p90 = at(0.9),
          .min = samples.front(),
          .max = samples.back(),
          .mean = sum / static_cast<double>(samples.size()),
          .samples = std::ssize(samples)};
}

}  // namespace headroom
