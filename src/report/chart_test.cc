#include "report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "report/chart_axis.h"
#include "report/chart_canvas.h"
#include "report/testing/xml_check.h"

namespace headroom {
namespace {

using testing::xml_problem;

const double kGap = std::nan("");

BarChart rungs() {
  return {.title = "GEMM 4096 x 4096 x 4096, <fp32> & friends",
          .categories = {"naive", "shared-memory tiles of 32 x 32 with padding against bank conflicts",
                         "cuBLASLt"},
          .series = {{.name = "measured",
                      .values = {120.5, 31.2, 2.77},
                      .low = {118, 30, 2.7},
                      .high = {125, 35, 2.9}},
                     {.name = "published \"K80\"", .values = {571.8, kGap, 46.957}}},
          .axis = {.label = "time", .unit = "ms"},
          .reference = ReferenceLine{2.1, "roofline"},
          .note = "A note."};
}

LineChart curves() {
  return {.title = "vector addition",
          .x = {"elements", "", AxisScale::log},
          .y = {"time", "ms", AxisScale::log},
          .series = {{"CPU", {{1e6, 0.303}, {5e6, 2.2}, {1e8, 63.9}}},
                     {"GPU", {{1e6, 92.2}, {5e6, kGap}, {1e8, 7216.3}}, true}}};
}

HeatMap sweep() {
  return {.title = "block size",
          .row_label = "threads",
          .column_label = "coarsening",
          .rows = {"64", "128"},
          .columns = {"1", "2", "4"},
          .values = {1.5, 1.25, kGap, 1.1, 0.9, 2},
          .unit = "ms",
          .best = HeatMap::Best::lowest,
          .missing = "the kernel needs too many registers"};
}

std::string message_of(const auto& chart) {
  try {
    svg(chart);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Chart, EveryPictureIsWellFormedAndSelfContained) {
  for (const std::string& picture : {svg(rungs()), svg(curves()), svg(sweep())}) {
    EXPECT_EQ(xml_problem(picture), "") << picture;
    EXPECT_NE(picture.find("<title>"), std::string::npos);
    EXPECT_NE(picture.find("<desc>"), std::string::npos);
    EXPECT_NE(picture.find("prefers-color-scheme:dark"), std::string::npos);
    for (const char* foreign : {"<script", "href", "url(", "nan", "inf"})
      EXPECT_EQ(picture.find(foreign), std::string::npos) << foreign;
  }
}

TEST(Chart, TheCheckerSeesWhatIsNotXml) {
  for (const char* bad :
       {"<a>", "<a></b>", "<a b=c/>", "<a>&</a>", "<a b=\"<\"/>", "<a/><b/>", "x", "<a b=\"1\" b=\"2\"/>"})
    EXPECT_NE(xml_problem(bad), "") << bad;
  EXPECT_EQ(xml_problem("<a b=\"1 &amp; 2\">x<c/>&lt;</a>\n"), "");
}

TEST(Chart, TextIsEscaped) {
  EXPECT_EQ(chart::escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
  EXPECT_EQ(chart::escaped("a\x1b[31m"), "a\\x1b[31m");
  EXPECT_EQ(chart::escaped("\xEF\xBF\xBE"), "?");
  const std::string picture = svg(rungs());
  EXPECT_NE(picture.find("&lt;fp32&gt; &amp; friends"), std::string::npos);
  EXPECT_NE(picture.find("published &quot;K80&quot;"), std::string::npos);
  BarChart chart = rungs();
  chart.title = chart.note = chart.axis.label = chart.reference->label = "</svg>&\x01\"\xff";
  for (std::string& category : chart.categories) category = "<b>" + category;
  EXPECT_EQ(xml_problem(svg(chart)), "");
}

TEST(Chart, BarsHaveNumbersErrorsAndAGap) {
  const std::string picture = svg(rungs());
  EXPECT_EQ(count_of(picture, "<rect"), 1 + 2 + 5);  // page, legend, bars
  EXPECT_EQ(count_of(picture, "class=\"hc-error\""), 3 * 3);
  EXPECT_NE(picture.find(">120 ms<"), std::string::npos);
  EXPECT_NE(picture.find(">–<"), std::string::npos);
  EXPECT_NE(picture.find(">roofline<"), std::string::npos);
  EXPECT_NE(picture.find("cuBLASLt: measured 2.77 ms, published"), std::string::npos) << "for screen readers";
}

TEST(Chart, AGapInterruptsTheLine) {
  LineChart chart = curves();
  EXPECT_EQ(count_of(svg(chart), "<polyline"), 1);  // the CPU's; the GPU's points stand alone
  chart.series[1].points.push_back({2e8, 14000});
  EXPECT_EQ(count_of(svg(chart), "<polyline"), 2);
  EXPECT_EQ(count_of(svg(chart), "class=\"hc-f1 hc-mark\""), 1 + 3);  // legend, points
}

TEST(Chart, HeatMapFramesTheBestAndExplainsMissingCells) {
  const std::string picture = svg(sweep());
  EXPECT_NE(picture.find("the kernel needs too many registers"), std::string::npos);
  EXPECT_EQ(count_of(picture, "class=\"hc-best\""), 1);
  EXPECT_NE(picture.find("from 0.9 ms (128, 2) to 2 ms (128, 4)"), std::string::npos);
  HeatMap full = sweep();
  full.values[2] = 3;
  EXPECT_EQ(svg(full).find("registers"), std::string::npos);
}

TEST(Chart, LogAxesRefuseValuesThatAreNotPositive) {
  LineChart lines = curves();
  lines.series[0].points[1].y = 0;
  EXPECT_EQ(message_of(lines),
            "the chart 'vector addition' cannot show 'CPU' at 5 M: it is 0, and a log axis holds only values "
            "above 0");
  lines.y.scale = AxisScale::linear;
  EXPECT_EQ(message_of(lines), "accepted");
  lines.series[0].points[1].x = -1;
  EXPECT_NE(message_of(lines).find("x axis of 'CPU'"), std::string::npos);
  BarChart bars = rungs();
  bars.series[0].low[1] = -2;
  EXPECT_EQ(message_of(bars), "accepted");
  bars.axis.scale = AxisScale::log;
  EXPECT_NE(message_of(bars).find("it is -2"), std::string::npos);
  HeatMap heat = sweep();
  heat.colours = AxisScale::log;
  EXPECT_EQ(message_of(heat), "accepted");
  heat.values[0] = 0;
  EXPECT_NE(message_of(heat).find("'1' at '64'"), std::string::npos);
  bars = rungs();
  bars.series[0].values[0] = std::numeric_limits<double>::infinity();
  EXPECT_NE(message_of(bars).find("infinite"), std::string::npos);
}

TEST(Chart, DataOfDifferentLengthIsOurMistake) {
  BarChart bars = rungs();
  bars.series[0].values.pop_back();
  EXPECT_THROW(svg(bars), Error);
  HeatMap heat = sweep();
  heat.values.pop_back();
  EXPECT_THROW(svg(heat), Error);
}

TEST(Chart, WithoutDataItSaysSo) {
  LineChart lines = curves();
  for (LineSeries& series : lines.series) series.points.clear();
  HeatMap gaps = sweep();
  gaps.values.assign(6, kGap);
  BarChart bars = rungs();
  for (BarSeries& series : bars.series) series.values.assign(3, kGap), series.low = series.high = {};
  for (const std::string& picture :
       {svg(BarChart{}), svg(LineChart{}), svg(HeatMap{}), svg(lines), svg(gaps), svg(bars)}) {
    EXPECT_NE(picture.find(">no data<"), std::string::npos) << picture;
    EXPECT_EQ(xml_problem(picture), "");
  }
}

std::string labels(const chart::AxisRange& range) {
  std::string text;
  for (const chart::Tick& tick : range.ticks()) text += (tick.label.empty() ? "." : tick.label) + " ";
  return text;
}

TEST(ChartAxis, TicksAreRoundNumbers) {
  using enum AxisScale;
  EXPECT_EQ(labels({linear, {0.3, 97}, true}), "0 20 40 60 80 100 ");
  EXPECT_EQ(labels({linear, {-0.12, 0.3}, true}), "-0.2 -0.1 0 0.1 0.2 0.3 ");
  EXPECT_EQ(labels({linear, {101, 103}, false}), "101 101.5 102 102.5 103 ");
  EXPECT_EQ(labels({linear, {10000.5, 10001.5}, false}),
            "10000.4 10000.6 10000.8 10001 10001.2 10001.4 10001.6 ");
  EXPECT_EQ(labels({linear, {7}, true}), "0 2 4 6 8 ");
  EXPECT_EQ(labels({linear, {0}, true}), "0 0.2 0.4 0.6 0.8 1 ");
  EXPECT_EQ(labels({linear, {5, 5}, false}), "2 3 4 5 6 7 8 ");
  EXPECT_EQ(labels({linear, {}, false}), "0 0.2 0.4 0.6 0.8 1 ");
}

TEST(ChartAxis, LogAxesHaveDecadesAndMinorTicks) {
  using enum AxisScale;
  EXPECT_EQ(labels({log, {1e6, 1e8}, false}), "1 M . . . . . . . . 10 M . . . . . . . . 100 M ");
  EXPECT_EQ(labels({log, {2.5, 30}, false}), "2 . . 5 . . . . 10 20 . . 50 ");
  EXPECT_EQ(labels({log, {3, 3}, false}), "2 . . 5 ");
  EXPECT_EQ(labels({log, {1e-5, 1e3}, false}), "10⁻⁵ 10⁻⁴ 0.001 0.01 0.1 1 10 100 1,000 ");
  EXPECT_TRUE(labels({log, {1e-12, 1e8}, false}).starts_with("10⁻¹² . . 10⁻⁹ . . 10⁻⁶ . . 0.001 . . 1 "));
  EXPECT_NEAR(chart::AxisRange(log, {1, 100}, false).position(10), 0.5, 1e-12);
  EXPECT_LT(chart::AxisRange(log, {10, 100}, true).low(), 10) << "the smallest bar must show";
}

TEST(ChartAxis, EveryRangeHoldsItsValues) {
  for (const AxisScale scale : {AxisScale::linear, AxisScale::log})
    for (const double low : {1e-300, 3e-17, 0.99999, 1.0, 9.995, 1e15, 7e299})
      for (const double factor : {1.0, 1.0000001, 1.7, 12.0, 1e6}) {
        const chart::AxisRange range(scale, {low, low * factor}, false);
        const std::size_t ticks = range.ticks().size();
        EXPECT_GE(range.position(low), -1e-9) << low << " " << factor;
        EXPECT_LE(range.position(low * factor), 1 + 1e-9) << low << " " << factor;
        EXPECT_GE(ticks, 2u) << low << " " << factor;
        EXPECT_LE(ticks, 80u) << low << " " << factor;
      }
}

TEST(ChartAxis, NumbersHaveThreeDigitsAndTheirUnit) {
  using chart::number;
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(12.345), "12.3");
  EXPECT_EQ(number(999.7), "1,000");
  EXPECT_EQ(number(-1234567), "-1.23 M");
  EXPECT_EQ(number(4.2e-5), "4.2×10⁻⁵");
  EXPECT_EQ(number(9.9999e-5), "10⁻⁴");
  EXPECT_EQ(number(5e9, "B"), "5 GB");
  EXPECT_EQ(number(1500, "B"), "1,500 B");
  EXPECT_EQ(number(97.5, "%"), "97.5%");
}

TEST(ChartText, LongWordsAreBrokenAndKeepTheirBytes) {
  const std::string text = "one " + std::string(100, 'x') + " ünïcödé-ünïcödé-ünïcödé";
  std::string joined;
  for (const std::string& line : chart::wrapped(text, 80)) {
    EXPECT_LE(chart::text_width(line), 80);
    joined += line;
  }
  std::erase(joined, ' ');
  std::string expected = text;
  std::erase(expected, ' ');
  EXPECT_EQ(joined, expected);
}

}  // namespace
}  // namespace headroom
