#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/chart.h"
#include "report/chart_axis.h"
#include "report/chart_canvas.h"

namespace headroom {
namespace chart {
namespace {

constexpr double kBlockEdge = 16, kRowHeight = 22, kRowGap = 6;
constexpr double kLeastWidth = 0.4;  // of a block that is drawn

void require_blocks(const BlockChart& chart) {
  for (const BlockChart::Block& block : chart.blocks) {
    const std::string where = fmt::format("'{}'", block.name);
    require_drawable(chart.title, AxisScale::linear, block.begin, where);
    require_drawable(chart.title, AxisScale::linear, block.end, where);
    if (block.row >= chart.rows.size()) reject("chart '{}': {} is on no row", chart.title, where);
    if (block.end < block.begin) reject("chart '{}': {} ends before it begins", chart.title, where);
  }
}

std::string blocks_in_words(const BlockChart& chart) {
  if (!chart.description.empty()) return chart.description;
  std::vector<const BlockChart::Block*> longest;
  for (const BlockChart::Block& block : chart.blocks) longest.push_back(&block);
  constexpr std::size_t kNamed = 10;
  std::ranges::stable_sort(longest, std::greater<>{}, [](const auto* b) { return b->end - b->begin; });
  std::string text = fmt::format("{} blocks on {} rows. The longest:", longest.size(), chart.rows.size());
  for (std::size_t i = 0; i < std::min(kNamed, longest.size()); ++i)
    text += fmt::format(" {} {};", longest[i]->name,
                        number(longest[i]->end - longest[i]->begin, chart.axis.unit));
  text.back() = '.';
  return text;
}

class BlockPicture {
 public:
  explicit BlockPicture(const BlockChart& chart)
      : chart_(chart), canvas_(chart.title, blocks_in_words(chart)), range_(AxisScale::linear, ends(), true) {
    for (const std::string& row : chart.rows) left_ = std::max(left_, std::min(160.0, text_width(row)));
    left_ += left_ > 0 ? kBlockEdge + 8 : kBlockEdge;
  }

  std::string file() {
    double y = canvas_.heading(kChartWidth);
    std::vector<Canvas::Key> keys;
    for (std::size_t c = 0; c < chart_.colours.size(); ++c) keys.push_back({chart_.colours[c], c});
    if (!keys.empty()) y = canvas_.legend(kBlockEdge, y, kChartWidth - 2 * kBlockEdge, keys);
    top_ = y + 4;
    bottom_ = top_ + double(chart_.rows.size()) * (kRowHeight + kRowGap);
    axis();
    for (std::size_t r = 0; r < chart_.rows.size(); ++r)
      canvas_.text(left_ - 8, y_of(r) + kRowHeight / 2 + 4, shortened(chart_.rows[r], left_ - kBlockEdge - 8),
                   Anchor::end);
    if (chart_.blocks.empty())
      canvas_.text((left_ + right_) / 2, top_ + 16, "no data", Anchor::middle, "soft");
    for (const BlockChart::Block& block : chart_.blocks) draw(block);
    y = canvas_.note(kBlockEdge, bottom_ + 46, kChartWidth - 2 * kBlockEdge, chart_.note);
    return canvas_.file(kChartWidth, y + 8);
  }

 private:
  std::vector<double> ends() const {
    std::vector<double> all;
    for (const BlockChart::Block& block : chart_.blocks) all.insert(all.end(), {block.begin, block.end});
    return all;
  }
  double x_of(double value) const { return left_ + range_.position(value) * (right_ - left_); }
  double y_of(std::size_t row) const { return top_ + double(row) * (kRowHeight + kRowGap); }

  void axis() {
    double free_from = 0;
    for (const Tick& tick : range_.ticks()) {
      const double x = x_of(tick.value), half = text_width(tick.label) / 2;
      canvas_.line(x, top_ - 4, x, bottom_, "grid");
      if (tick.label.empty() || x - half < free_from) continue;
      canvas_.text(std::min(x, kChartWidth - 4 - half), bottom_ + 17, tick.label, Anchor::middle, "soft");
      free_from = x + half + 6;
    }
    canvas_.text((left_ + right_) / 2, bottom_ + 36, axis_title(chart_.axis), Anchor::middle);
  }

  void draw(const BlockChart::Block& block) {
    const double x = x_of(block.begin), width = x_of(block.end) - x;
    if (width < kLeastWidth) return;
    const std::string tip = block.tip.empty() ? block.name : block.name + ": " + block.tip;
    canvas_.rect(x, y_of(block.row), width, kRowHeight, fill_class(block.colour), tip);
    const std::string label = shortened(block.name, width - 8);
    if (label.size() < 3) return;
    canvas_.text(x + 4, y_of(block.row) + kRowHeight / 2 + 4, label, Anchor::start, "label");
  }

  static std::string shortened(const std::string& text, double width) {
    if (text_width(text) <= width) return text;
    const std::vector<std::string> lines = wrapped(text, width - text_width("…"));
    return width < 24 ? "" : lines[0] + "…";
  }

  const BlockChart& chart_;
  Canvas canvas_;
  AxisRange range_;
  double left_ = 0, right_ = kChartWidth - kBlockEdge - 8, top_ = 0, bottom_ = 0;
};

}  // namespace
}  // namespace chart

std::string svg(const BlockChart& chart) {
  chart::require_blocks(chart);
  return chart::BlockPicture(chart).file();
}

}  // namespace headroom
