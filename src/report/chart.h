#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

// Charts as plain data, and the picture of each as one SVG file: self-contained, without scripts, readable on
// light and dark pages. Every chart of the program comes from here.
//
// NaN means "no value": a bar, a point or a cell that is left out. Any other value must be finite, and above
// 0 on a log axis; `svg` rejects the chart otherwise and names the value. A chart without any value is drawn
// with the words "no data".

enum class AxisScale { linear, log };

struct ChartAxis {
  std::string label = {};  // "elements"
  std::string unit = {};   // "ms"; printed after the label
  AxisScale scale = AxisScale::linear;
  std::vector<double> shows = {};  // values that lie on the axis even if no data does
};

struct ReferenceLine {
  double value = 0;
  std::string label = {};  // "memory bandwidth"
};

struct BarSeries {
  std::string name = {};            // in the legend, which is left out for a single series
  std::vector<double> values = {};  // one per category
  // Ends of the error bars, as values: p10 and p90. Both empty: none. Otherwise one per category.
  std::vector<double> low = {}, high = {};
};

// Horizontal bars, top to bottom in the order of the categories: a long name has room.
struct BarChart {
  std::string title = {};
  std::string description = {};  // for screen readers; empty: made from the data
  std::vector<std::string> categories = {};
  std::vector<BarSeries> series = {};
  ChartAxis axis = {};  // of the values
  std::optional<ReferenceLine> reference = {};
  std::string note = {};  // a sentence below the chart: device, date, command
};

struct LineSeries {
  struct Point {
    double x = 0, y = 0;
  };
  std::string name = {};
  std::vector<Point> points = {};  // joined in this order; a point with NaN interrupts the line
  bool dashed = false;             // as for published figures beside measured ones
};

struct LineChart {
  std::string title = {};
  std::string description = {};
  ChartAxis x = {}, y = {};
  std::vector<LineSeries> series = {};
  bool markers = true;
  std::optional<ReferenceLine> reference = {};  // a horizontal line
  std::string note = {};
};

// A grid of coloured cells, each with its number.
struct HeatMap {
  enum class Best { none, lowest, highest };  // which cell gets a frame

  std::string title = {};
  std::string description = {};
  std::string row_label = {}, column_label = {};  // "block size", "coarsening"
  std::vector<std::string> rows = {}, columns = {};
  std::vector<double> values = {};  // row by row
  std::string unit = {};
  AxisScale colours = AxisScale::linear;
  Best best = Best::none;
  std::string missing = "not measured";  // what a cell without a value means; printed if there is one
  std::string note = {};
};

// Blocks on rows along one axis: a timeline (a row per stream and thread), nested ranges (a row per depth),
// the parts of a step (one row).
struct BlockChart {
  struct Block {
    std::size_t row = 0;
    double begin = 0, end = 0;
    std::size_t colour = 0;
    std::string name = {};
    std::string tip = {};  // shown on hovering after the name
  };
  std::string title = {};
  std::string description = {};
  std::vector<std::string> rows = {};
  std::vector<Block> blocks = {};
  std::vector<std::string> colours = {};  // their meaning, in the legend
  ChartAxis axis = {};                    // linear
  std::string note = {};
};

// Points of different sizes over two axes, and lines that bound them: a roofline.
struct ScatterChart {
  struct Point {
    double x = 0, y = 0;
    double size = 1;  // area, relative to the largest point
    std::size_t series = 0;
    std::string name = {};
    std::string tip = {};
  };
  std::string title = {};
  std::string description = {};
  ChartAxis x = {}, y = {};
  std::vector<std::string> series = {};
  std::vector<Point> points = {};
  std::vector<LineSeries> lines = {};  // a level one is named at its last point, others at their first
  std::string note = {};
};

std::string svg(const BarChart& chart);
std::string svg(const LineChart& chart);
std::string svg(const HeatMap& chart);
std::string svg(const BlockChart& chart);
std::string svg(const ScatterChart& chart);

}  // namespace headroom
