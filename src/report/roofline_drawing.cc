#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "report/machine_table.h"

namespace headroom {
namespace {

constexpr int kWidth = 60, kHeight = 16;  // of the plot; the axes add ten columns and two rows

// A plot of characters over two logarithmic axes: x in FLOP per byte, y in FLOP/s.
class Field {
 public:
  Field(double x_low, double x_high, double y_low, double y_high)
      : x_low_(std::log10(x_low)),
        x_high_(std::log10(x_high)),
        y_low_(std::log10(y_low)),
        y_high_(std::log10(y_high)),
        rows_(kHeight, std::string(kWidth, ' ')) {}

  double x_at(int column) const {
    return std::pow(10, x_low_ + (x_high_ - x_low_) * (column + 0.5) / kWidth);
  }
  int column_of(double x) const {
    return static_cast<int>(std::floor((std::log10(x) - x_low_) / (x_high_ - x_low_) * kWidth));
  }
  int row_of(double y) const {  // from the top; may be outside
    return static_cast<int>(std::floor((y_high_ - std::log10(y)) / (y_high_ - y_low_) * kHeight));
  }
  void put(int row, int column, char mark) {
    if (row < 0 || row >= kHeight || column < 0 || column >= kWidth) return;
    rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = mark;
  }
  // Right-aligned at the right edge, or longer if it would start left of `from`.
  void label(int row, int from, const std::string& text) {
    const int column = std::max(from, kWidth - static_cast<int>(text.size()));
    std::string& line = rows_[static_cast<std::size_t>(row)];
    line.resize(std::max(line.size(), static_cast<std::size_t>(column) + text.size()), ' ');
    line.replace(static_cast<std::size_t>(column), text.size(), text);
  }

  std::string str() const {
    std::string text;
    for (int row = 0; row < kHeight; ++row)
      text += trimmed(fmt::format("{:>8} |{}", y_tick(row), rows_[static_cast<std::size_t>(row)]));
    text += fmt::format("{:>8} +{}\n", "", std::string(kWidth, '-'));
    std::string ticks(kWidth + 10, ' ');
    for (int decade = static_cast<int>(std::ceil(x_low_)); decade < x_high_; ++decade) {
      const std::string tick = fmt::format("{:g}", std::pow(10, decade));
      const auto column = static_cast<std::size_t>(10 + column_of(std::pow(10, decade) * 1.0001));
      if (column + tick.size() <= ticks.size()) ticks.replace(column, tick.size(), tick);
    }
    return text + trimmed(ticks);
  }

 private:
  static std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }
  // The power of ten in this row, if any.
  std::string y_tick(int row) const {
    for (int decade = static_cast<int>(std::ceil(y_low_)); decade <= y_high_; ++decade)
      if (row_of(std::pow(10, decade) * 1.0001) == row) return si(std::pow(10, decade), "");
    return "";
  }

  double x_low_, x_high_, y_low_, y_high_;
  std::vector<std::string> rows_;
};

struct Roof {
  double rate;
  std::string label;
};

// Highest first. Peaks in the same row of the drawing share its roof and its label.
std::vector<Roof> flat_roofs(const Machine& machine, const Field& field) {
  std::vector<std::pair<double, std::string>> peaks;
  for (const auto& [name, rate] : machine.peak_flops) peaks.emplace_back(rate, name);
  std::ranges::stable_sort(peaks, std::greater<>{}, [](const auto& peak) { return peak.first; });
  std::vector<Roof> roofs;
  for (const auto& [rate, name] : peaks) {
    if (roofs.empty() || field.row_of(roofs.back().rate) != field.row_of(rate))
      roofs.push_back({rate, fmt::format("{} {}", name, si(rate, "FLOP/s"))});
    else
      roofs.back().label = name + ", " + roofs.back().label;
  }
  return roofs;
}

// L1, L2 and L3 are drawn with their digit, because their slopes may be close together.
char mark_of(const Machine& machine, const Machine::Level& level) {
  return &level == &machine.memory() || level.name.empty() ? '/' : level.name.back();
}

}  // namespace

std::string draw_roofline(const Machine& machine) {
  std::vector<const Machine::Level*> known;
  for (const Machine::Level& level : machine.levels)
    if (level.bytes_per_s > 0) known.push_back(&level);
  const double fastest = (*std::ranges::max_element(known, {}, [](const auto* level) {
                           return level->bytes_per_s;
                         }))->bytes_per_s;
  const double slowest = machine.memory().bytes_per_s;
  double lowest = machine.peak_flops.begin()->second, highest = lowest;
  for (const auto& [name, rate] : machine.peak_flops)
    lowest = std::min(lowest, rate), highest = std::max(highest, rate);

  // From left of the first ridge to far enough right of the last one to leave room for labels.
  const double x_low = lowest / fastest / 8, x_high = highest / slowest * 100;
  Field field(x_low, x_high, slowest * x_low, highest * 1.5);
  const std::vector<Roof> flat = flat_roofs(machine, field);
  for (const Roof& roof : flat)
    for (int column = std::max(0, field.column_of(roof.rate / fastest)); column < kWidth; ++column)
      field.put(field.row_of(roof.rate), column, '-');
  std::string legend;
  for (const Machine::Level* level : known) {
    const char mark = mark_of(machine, *level);
    for (int column = 0; column < kWidth && level->bytes_per_s * field.x_at(column) < highest; ++column)
      field.put(field.row_of(level->bytes_per_s * field.x_at(column)), column, mark);
    legend += fmt::format("   {} {} {}", mark, level->name, si(level->bytes_per_s, "B/s"));
  }
  for (const Roof& roof : flat)
    field.label(field.row_of(roof.rate), field.column_of(roof.rate / slowest) + 3, " " + roof.label);
  return fmt::format("{}: {}\nFLOP/s against FLOP per byte; slopes:{}\n{}", machine.name, machine.title,
                     legend, field.str());
}

}  // namespace headroom
