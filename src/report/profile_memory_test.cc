#include "report/profile_memory.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace headroom {
namespace {

MemoryBytes memory_of(std::int64_t activations, std::int64_t gradients, std::int64_t workspace) {
  MemoryBytes bytes;
  bytes[MemoryKind::parameters] = 1000, bytes[MemoryKind::inputs] = 500;
  bytes[MemoryKind::activations] = activations, bytes[MemoryKind::gradients] = gradients;
  bytes[MemoryKind::workspace] = workspace;
  return bytes;
}

// Four steps; the third is the peak: 1000 + 500 + 300 + 400 + 800.
RunRecord recorded() {
  RunRecord record;
  record.memory.emplace();
  MemoryTimeline& t = record.memory->planned;
  t.steps = {memory_of(600, 0, 0), memory_of(700, 0, 100), memory_of(300, 400, 800), memory_of(100, 400, 0)};
  t.peak_step = 2, t.peak = t.steps[2], t.arena_bytes = 2048;
  t.alive = {{"workspace of step 2", "conv1", MemoryKind::workspace, 800, 2, 2, 2},
             {"conv1.gradient", "conv1", MemoryKind::gradients, 400, 2, 3, 3},
             {"scores", "fc", MemoryKind::activations, 300, 1, 4, 4}};
  MemoryBytes conv1, fc, none;
  conv1[MemoryKind::parameters] = 600, conv1[MemoryKind::gradients] = 400;
  conv1[MemoryKind::workspace] = 800;
  fc[MemoryKind::parameters] = 400, fc[MemoryKind::activations] = 300;
  none[MemoryKind::inputs] = 500;
  t.layers = {{"conv1", conv1}, {"fc", fc}, {"", none}};
  record.memory->real_peak_bytes = 5000;
  return record;
}

std::int64_t number_at(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<std::int64_t>(sheet.at(row, key));
}
std::string text_at(const Sheet& sheet, std::size_t row, const char* key) {
  return std::get<std::string>(sheet.at(row, key));
}

TEST(MemorySheet, HasTheMostOfEveryKindAndThePeak) {
  const Sheet sheet = memory_sheet(recorded());
  ASSERT_EQ(sheet.rows(), 10u) << "seven kinds, arena, all, real";
  EXPECT_EQ(text_at(sheet, 1, "kind"), "optimizer state");
  EXPECT_EQ(text_at(sheet, 4, "kind"), "activations");
  EXPECT_EQ(number_at(sheet, 4, "planned_bytes"), 700);
  EXPECT_EQ(number_at(sheet, 4, "peak_bytes"), 300);
  EXPECT_EQ(std::get<double>(sheet.at(4, "percent_of_peak")), 10);
  EXPECT_EQ(text_at(sheet, 7, "kind"), "arena");
  EXPECT_EQ(number_at(sheet, 7, "planned_bytes"), 2048);
  EXPECT_EQ(number_at(sheet, 7, "peak_bytes"), 1500);
  EXPECT_EQ(number_at(sheet, 8, "planned_bytes"), 1500 + 2048);
  EXPECT_EQ(number_at(sheet, 8, "peak_bytes"), 3000);
  EXPECT_EQ(text_at(sheet, 9, "kind"), "real");
  EXPECT_EQ(number_at(sheet, 9, "peak_bytes"), 5000);
  EXPECT_EQ(sheet.at(9, "planned_bytes"), Cell());
}

TEST(MemorySheet, AnUnknownRealPeakHasNoRow) {
  RunRecord record = recorded();
  record.memory->real_peak_bytes = 0;
  EXPECT_EQ(memory_sheet(record).rows(), 9u);
}

TEST(AliveSheet, SaysFromWhenToWhen) {
  const Sheet sheet = alive_sheet(recorded());
  ASSERT_EQ(sheet.rows(), 3u);
  EXPECT_EQ(text_at(sheet, 0, "name"), "workspace of step 2");
  EXPECT_EQ(number_at(sheet, 1, "first_step"), 2);
  EXPECT_EQ(number_at(sheet, 1, "last_use_step"), 3);
  EXPECT_EQ(std::get<double>(sheet.at(2, "percent_of_arena")), 20);
  EXPECT_EQ(sheet.at(2, "last_use_step"), Cell()) << "read after the run";
}

TEST(LayerMemory, AddsUpToThePeak) {
  const Sheet sheet = layer_memory_sheet(recorded());
  ASSERT_EQ(sheet.rows(), 4u);
  EXPECT_EQ(number_at(sheet, 0, "workspace_bytes"), 800);
  EXPECT_EQ(number_at(sheet, 0, "total_bytes"), 1800);
  EXPECT_EQ(text_at(sheet, 2, "layer"), "no layer");
  EXPECT_EQ(number_at(sheet, 0, "total_bytes") + number_at(sheet, 1, "total_bytes") +
                number_at(sheet, 2, "total_bytes"),
            number_at(sheet, 3, "total_bytes"));
  EXPECT_EQ(peak_bytes_by_layer(recorded()),
            (std::map<std::string, std::int64_t>{{"", 500}, {"conv1", 1800}, {"fc", 700}}));
}

// Steps of 2.1, 2.3, 3 and 2 kB on an axis up to 5: each fills a quarter of the width.
TEST(MemoryChart, HasEveryStep) {
  const std::string chart = memory_chart(recorded(), {.width = 50});
  const std::vector<std::string> lines = split(chart, '\n');
  EXPECT_EQ(lines[0], "memory alive over the steps, kB") << chart;
  EXPECT_EQ(lines[1], "       5 |") << chart;
  EXPECT_EQ(lines[4], "         |" + std::string(20, ' ') + "**********") << chart;
  EXPECT_EQ(lines[5], "         |" + std::string(20, '*') + std::string(10, ' ') + "**********") << chart;
  EXPECT_TRUE(chart.ends_with(" 4 steps\n")) << chart;
}

TEST(MemoryChart, ARecordWithoutMemoryHasNone) {
  EXPECT_EQ(memory_chart({}, {}), "");
  EXPECT_EQ(memory_sheet({}).rows() + alive_sheet({}).rows() + layer_memory_sheet({}).rows(), 0u);
  EXPECT_TRUE(peak_bytes_by_layer({}).empty());
}

}  // namespace
}  // namespace headroom
