#include "report/chart_axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/units.h"

namespace headroom::chart {
namespace {

constexpr double kTickTarget = 5;     // about as many steps on a linear axis
constexpr double kSlack = 1e-9;       // for ends that rounding moved off a tick
constexpr int kDecadesWithMinor = 7;  // more decades leave no room for minor ticks
constexpr int kDecadesLabelled = 9;   // above this only every second, third … decade has its number

std::string power_of_ten(int exponent) {
  static constexpr std::array<const char*, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (char digit : std::to_string(std::abs(exponent)))
    text += kDigits[static_cast<std::size_t>(digit - '0')];
  return text;
}

// Three significant digits, without zeros at the end.
std::string three_digits(double value) {
  const int before = value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::clamp(3 - before, 0, 6));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

double nice_step(double span) {
  const double rough = span / kTickTarget, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 2.5, 5.0})
    if (rough <= step * power * (1 + kSlack)) return step * power;
  return 10 * power;
}

// The next 1, 2 or 5 times a power of ten below or above.
double snapped(double value, bool up) {
  const double power = std::pow(10, std::floor(std::log10(value) + kSlack));
  double below = power;
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    if (up && value <= step * power * (1 + kSlack)) return step * power;
    if (step * power <= value * (1 + kSlack)) below = step * power;
  }
  return up ? 10 * power : below;
}

}  // namespace

void require_drawable(const std::string& title, AxisScale scale, double value, const std::string& where) {
  if (std::isnan(value)) return;
  if (std::isinf(value)) reject("the chart '{}' cannot show {}: it is infinite", title, where);
  if (scale == AxisScale::log && !(value > 0))
    reject(Hint{"use a linear axis, or leave the value out"},
           "the chart '{}' cannot show {}: it is {:g}, and a log axis holds only values above 0", title,
           where, value);
}

std::string number(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size < 1e-3) {
    int exponent = static_cast<int>(std::floor(std::log10(size) + kSlack));
    std::string digits = three_digits(value * std::pow(10, -exponent));
    if (digits == "10" || digits == "-10") digits = value < 0 ? "-1" : "1", ++exponent;
    return digits == "1" ? power_of_ten(exponent) : digits + "×" + power_of_ten(exponent);
  }
  if (size < 999.5) return three_digits(value);
  if (size < 999'999.5) return with_commas(std::llround(value));
  for (const auto& [unit, prefix] : {std::pair{1e6, " M"}, {1e9, " G"}, {1e12, " T"}, {1e15, " P"}})
    if (size < unit * 999.5) return three_digits(value / unit) + prefix;
  return fmt::format("{:.2e}", value);
}

std::string number(double value, const std::string& unit) {
  const std::string text = number(value);
  if (unit.empty()) return text;
  const char last = text.back();  // "4.57 MB", not "4.57 M B"
  const bool prefixed = last == 'M' || last == 'G' || last == 'T' || last == 'P';
  return prefixed || unit == "%" ? text + unit : text + " " + unit;
}

std::string axis_title(const ChartAxis& axis) {
  std::string text = axis.label;
  if (!axis.unit.empty()) text += text.empty() ? axis.unit : ", " + axis.unit;
  if (axis.scale == AxisScale::log) text += text.empty() ? "log scale" : " (log scale)";
  return text;
}

AxisRange::AxisRange(AxisScale scale, const std::vector<double>& values, bool from_zero) : scale_(scale) {
  if (values.empty()) {
    if (scale == AxisScale::log) low_ = 1, high_ = 10;
    return;
  }
  low_ = *std::ranges::min_element(values);
  high_ = *std::ranges::max_element(values);
  scale == AxisScale::log ? widen_log(from_zero) : widen_linear(from_zero);
}

void AxisRange::widen_linear(bool from_zero) {
  // An axis that would begin near 0 anyway begins there.
  if (from_zero || (low_ > 0 && low_ < 0.5 * high_)) low_ = std::min(low_, 0.0);
  if (from_zero || (high_ < 0 && high_ > 0.5 * low_)) high_ = std::max(high_, 0.0);
  if (high_ - low_ <= 1e-12 * std::max(std::abs(low_), std::abs(high_))) {
    const double room = low_ == 0 ? 1 : std::abs(low_) / 2;
    high_ += room;
    if (!from_zero) low_ -= room;
  }
  step_ = nice_step(high_ - low_);
  low_ = step_ * std::floor(low_ / step_ + kSlack);
  high_ = step_ * std::ceil(high_ / step_ - kSlack);
}

void AxisRange::widen_log(bool from_zero) {
  const double least = low_;
  low_ = snapped(low_, false);
  high_ = snapped(high_, true);
  if (from_zero && low_ > least * 0.6) low_ = snapped(low_ * 0.5, false);
  if (high_ / low_ < 1.5) low_ = snapped(low_ * 0.5, false), high_ = snapped(high_ * 1.9, true);
}

double AxisRange::position(double value) const {
  if (scale_ == AxisScale::linear) return (value - low_) / (high_ - low_);
  return std::log(value / low_) / std::log(high_ / low_);
}

std::vector<Tick> AxisRange::ticks() const { return scale_ == AxisScale::log ? log_ticks() : linear_ticks(); }

std::vector<Tick> AxisRange::linear_ticks() const {
  std::vector<Tick> list;
  const int steps = static_cast<int>(std::lround((high_ - low_) / step_));
  for (int i = 0; i <= steps; ++i) {
    double value = low_ + i * step_;
    if (std::abs(value) < step_ * kSlack) value = 0;
    list.push_back({value, number(value)});
  }
  // Three digits may be too few: 1,000.5 and 1,001 would read alike.
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].label == list[i - 1].label) {
      for (Tick& tick : list) tick.label = fmt::format("{:.8g}", tick.value);
      break;
    }
  return list;
}

std::vector<Tick> AxisRange::log_ticks() const {
  std::vector<Tick> list;
  const int first = static_cast<int>(std::floor(std::log10(low_) + kSlack));
  const int last = static_cast<int>(std::ceil(std::log10(high_) - kSlack));
  const int decades = last - first, every = 1 + (decades - 1) / kDecadesLabelled;
  const bool label_more = std::log10(high_ / low_) < 2;  // too few decades to read a value by them
  for (int exponent = first; exponent <= last; ++exponent)
    for (int digit = 1; digit <= 9; ++digit) {
      const double value = digit * std::pow(10, exponent);
      if (value < low_ * (1 - kSlack) || value > high_ * (1 + kSlack)) continue;
      if (digit > 1 && decades > kDecadesWithMinor) continue;
      const bool labelled =
          digit == 1 ? (exponent - first) % every == 0 : label_more && (digit == 2 || digit == 5);
      list.push_back({value, labelled ? number(value) : ""});
    }
  return list;
}

}  // namespace headroom::chart
