#include "report/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "base/text.h"

namespace headroom {
namespace {

Samples sampled(std::size_t count, const std::vector<SeriesInfo>& info,
                const std::function<double(std::size_t series, std::size_t tick)>& value) {
  SampleStore store(info, 1000);
  std::vector<double> row(info.size());
  for (std::size_t tick = 0; tick < count; ++tick) {
    for (std::size_t s = 0; s < info.size(); ++s) row[s] = value(s, tick);
    store.add(0.5 * double(tick), row);
  }
  return store.take();
}

const SeriesInfo kBusy{.key = "cpu_busy_percent", .name = "CPU busy", .unit = "%", .limit = 100};
const SeriesInfo kEnergy{.key = "gpu0_energy_j", .name = "GPU 0 energy", .unit = "J", .counter = true};

TEST(SeriesSheet, HasFiguresOfEverySeriesThatWasRead) {
  const SeriesInfo silent{.key = "gpu0_power_w", .name = "GPU 0 power", .unit = "W"};
  const Samples samples = sampled(5, {kBusy, kEnergy, silent}, [](std::size_t series, std::size_t tick) {
    return series == 0 ? 10.0 * double(tick) : series == 1 ? 5000.0 + 30 * double(tick) : kNotRead;
  });
  const Sheet sheet = series_sheet(samples);
  ASSERT_EQ(sheet.rows(), 2u);
  EXPECT_EQ(std::get<double>(sheet.at(0, "mean")), 25);
  EXPECT_EQ(std::get<double>(sheet.at(0, "max")), 40);
  EXPECT_EQ(std::get<double>(sheet.at(1, "total")), 120)
      << "energy is what was used, not what the meter says";
  EXPECT_EQ(sheet.at(1, "mean"), Cell());
  const Json json = to_json(samples);
  EXPECT_EQ(json["series"].size(), 2u);
  EXPECT_EQ(json["series"][1]["total"], 120.0);
  EXPECT_EQ(json["series"][0]["values"].size(), json["seconds"].size());
}

TEST(SeriesSheet, ManyCoresAreLeftOut) {
  std::vector<SeriesInfo> info = {kBusy};
  for (int i = 0; i < 20; ++i)
    info.push_back({.key = fmt::format("cpu{}_busy_percent", i),
                    .name = fmt::format("CPU {} busy", i),
                    .unit = "%",
                    .per_core = true});
  const Samples samples = sampled(3, info, [](std::size_t, std::size_t) { return 50.0; });
  EXPECT_EQ(series_sheet(samples).rows(), 1u);
  EXPECT_EQ(per_core_rows(samples), 20u);
  EXPECT_EQ(series_sheet(samples, 20).rows(), 21u);
  EXPECT_EQ(to_json(samples)["series"].size(), 21u) << "JSON holds all";
}

TEST(SeriesCsv, HasARowPerSampleAndGapsAreEmpty) {
  const Samples samples = sampled(3, {kBusy, kEnergy}, [](std::size_t series, std::size_t tick) {
    return tick == 1 && series == 0 ? kNotRead : double(10 * series + tick);
  });
  EXPECT_EQ(series_csv(samples), "seconds,cpu_busy_percent,gpu0_energy_j\n0,0,10\n0.5,,11\n1,2,12\n");
  EXPECT_TRUE(to_json(samples)["series"][0]["values"][1].is_null());
}

std::vector<std::string> chart(const Samples& samples, int width = 60) {
  return split(draw_series(samples.series[0], samples.seconds, {.width = width}), '\n');
}

TEST(SeriesDrawing, AStepIsAStep) {
  const Samples samples =
      sampled(101, {kBusy}, [](std::size_t, std::size_t tick) { return tick <= 50 ? 0.0 : 100.0; });
  const std::vector<std::string> lines = chart(samples);
  EXPECT_EQ(lines[0], "CPU busy, %");
  EXPECT_EQ(lines[1], "     100 |" + std::string(25, ' ') + std::string(25, '*'));
  EXPECT_EQ(lines[8].substr(0, 35), "       0 |" + std::string(25, '*'));
  EXPECT_EQ(lines[4], "         |");
  EXPECT_EQ(lines[10], "          0" + std::string(43, ' ') + "50.0 s");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 60u) << line;
}

TEST(SeriesDrawing, ManyReadingsInAColumnShowTheirRange) {
  const Samples samples =
      sampled(900, {kBusy}, [](std::size_t, std::size_t tick) { return tick % 2 == 0 ? 0.0 : 100.0; });
  const std::vector<std::string> lines = chart(samples);
  EXPECT_EQ(lines[1].substr(9, 2), "|:");
  EXPECT_EQ(lines[8].substr(9, 2), "|:");
  EXPECT_NE((lines[4] + lines[5]).find('*'), std::string::npos) << "the mean is in the middle";
}

TEST(SeriesDrawing, FewReadingsFillTheWidth) {
  const Samples samples = sampled(3, {kBusy}, [](std::size_t, std::size_t) { return 50.0; });
  const std::vector<std::string> lines = chart(samples);
  EXPECT_TRUE(std::ranges::any_of(
      lines, [](const std::string& line) { return line.ends_with("|" + std::string(50, '*')); }));
}

TEST(SeriesDrawing, ARateHasNoValueAtTheBeginning) {
  const Samples samples =
      sampled(11, {kBusy}, [](std::size_t, std::size_t tick) { return tick == 0 ? kNotRead : 100.0; });
  EXPECT_EQ(chart(samples)[1], "     100 |" + std::string(50, '*'));
}

TEST(SeriesDrawing, TheAxisEndsAtARoundNumber) {
  const SeriesInfo power{.key = "w", .name = "power", .unit = "W"};
  const Samples samples = sampled(10, {power}, [](std::size_t, std::size_t) { return 312.0; });
  EXPECT_TRUE(chart(samples)[1].starts_with("     500 |")) << chart(samples)[1];
}

TEST(SeriesDrawing, NothingReadIsSaid) {
  const Samples samples = sampled(2, {kBusy}, [](std::size_t, std::size_t) { return kNotRead; });
  EXPECT_EQ(draw_series(samples.series[0], samples.seconds, {}), "CPU busy, %\n  no readings\n");
  const Samples one = sampled(1, {kBusy}, [](std::size_t, std::size_t) { return 3.0; });
  EXPECT_FALSE(draw_series(one.series[0], one.seconds, {}).empty()) << "a command that ended at once";
}

}  // namespace
}  // namespace headroom
