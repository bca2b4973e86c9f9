// Pages made from records: which sections they have, and that nothing in a record becomes markup.
#include "page/page.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "page/html.h"
#include "report/gpu_sample_sheets.h"

namespace headroom {
namespace {

RunRecord small_record() {
  RunRecord r{.verb = "train", .command = {"headroom", "train", "x"}};
  r.program = "1", r.commit = "abc", r.compiler = "c++", r.time = "2026-01-01T00:00:00Z";
  r.model = RunRecord::Model{"tiny", 10, nullptr};
  r.training = RecordedTraining{.images_per_s = 1000, .train_s = 2};
  r.training->epochs = {
      {.epoch = 1, .loss = 2, .train_accuracy = 0.5, .test_accuracy = 0.6, .test_loss = 1.5},
      {.epoch = 2, .loss = 1, .train_accuracy = 0.7, .test_accuracy = 0.8125, .test_loss = 1}};
  return r;
}

std::string page_of(const RunRecord& r) { return html_page({{"run.json", {.record = r}}}); }

bool has_section(const std::string& page, const std::string& id) {
  return page.find("<section id=\"" + id + "\"") != std::string::npos;
}

TEST(Page, HasTheSectionsThatTheRecordHasDataFor) {
  const std::string page = page_of(small_record());
  for (const char* id : {"summary", "curves", "origin"}) EXPECT_TRUE(has_section(page, id)) << id;
  for (const char* id : {"step", "layers", "roofline", "timeline", "ranges", "prediction", "memory",
                         "utilisation", "ranks", "tables", "comparison"})
    EXPECT_FALSE(has_section(page, id)) << id;
  EXPECT_NE(page.find("0.8125"), std::string::npos) << "the last accuracy";
}

TEST(Page, EveryLinkLeadsToASection) {
  const std::string page = page_of(small_record());
  for (std::size_t at = 0; (at = page.find("href=\"#", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 7, end = page.find('"', begin);
    EXPECT_NE(page.find("id=\"" + page.substr(begin, end - begin) + "\""), std::string::npos)
        << page.substr(begin, end - begin);
  }
}

TEST(Page, SamplesOfAGpuAreAChartOfTheTimeline) {
  RunRecord r = small_record();
  SampledStep step{.runs = 1};
  step.layers = {{"fc1", {.seconds = 1e-3}}};
  step.points = {{0, 1e-3, {.sm = 71.25}}, {1e-3, 2e-3, {.sm = 30}}};
  r.tables = {sampled_layers_sheet(step), sampled_step_sheet(step)};
  const std::string page = page_of(r);
  ASSERT_TRUE(has_section(page, "timeline") && has_section(page, "tables"));
  EXPECT_NE(page.find("The GPU over one step"), std::string::npos);
  EXPECT_NE(page.find("<caption>sampled_layers"), std::string::npos);
  EXPECT_EQ(page.find("<caption>sampled_step"), std::string::npos) << "200 rows that nobody reads";
  r.tables = {Sheet(std::string(kSampledStep), {{.key = "x", .title = "x"}})};
  EXPECT_NE(page_of(r).find("no data"), std::string::npos) << "a file with other columns";
}

// A remedy is a command or an option that the machine has.
TEST(Page, GapsAreGivenARemedyOfTheirMachine) {
  RunRecord r = small_record();
  r.layers = {{.layer = "fc1", .forward_s = 1e-3, .floor_s = 1e-4, .bound = "compute"}};
  r.machine = Machine{.name = "here", .kind = "cpu"};
  const std::string on_cpu = page_of(r);
  EXPECT_NE(on_cpu.find("<code>--kernel</code>"), std::string::npos);
  EXPECT_EQ(on_cpu.find("headroom tune"), std::string::npos);
  r.machine->kind = "gpu";
  const std::string on_gpu = page_of(r);
  EXPECT_EQ(on_gpu.find("<code>--kernel</code>"), std::string::npos);
  EXPECT_NE(on_gpu.find("headroom tune"), std::string::npos);
  r.layers[0].floor_s = 1e-6;
  EXPECT_NE(page_of(r).find("too little work for a whole GPU"), std::string::npos);
}

// Constants that were only assumed do not show that a machine was busy.
TEST(Page, OnlyACalibratedPredictionBlamesABusyMachine) {
  RunRecord r = small_record();
  r.layers = {{.layer = "fc1", .forward_s = 1e-3, .floor_s = 1e-4, .high_s = 2e-4, .bound = "compute"}};
  r.prediction = Prediction{};
  r.prediction->basis = TimeModel::Basis::assumed;
  EXPECT_EQ(page_of(r).find("on an idle machine"), std::string::npos);
  r.prediction->basis = TimeModel::Basis::calibrated;
  EXPECT_NE(page_of(r).find("on an idle machine"), std::string::npos);
}

// A page for every place where a record holds text.
TEST(Page, TextsOfTheRecordAreNeverMarkup) {
  const std::string evil = "</script><script>alert('x')</script>\"'&";
  RunRecord r = small_record();
  r.model->name = r.data = r.commit = r.command[2] = r.compiler = r.verb = evil;
  r.training->diverged = evil;
  r.machine = Machine{.name = evil, .title = evil, .kind = "cpu"};
  r.machine->peak_flops[evil] = 1e9, r.machine->levels = {{.name = evil, .bytes = 1e9, .bytes_per_s = 1e9}};
  r.plan = RecordedPlan{.mode = "train", .precision = evil, .device = evil};
  r.plan->steps = {{.layer = evil,
                    .phase = "forward",
                    .op = evil,
                    .problem = evil,
                    .kernel = evil,
                    .flops = 1e6,
                    .bytes = 1e6,
                    .charges = {{evil, Phase::forward, 1.0}}}};
  r.layers = {{.layer = evil,
               .output = evil,
               .flops = 1e6,
               .forward_s = 1e-3,
               .floor_s = 1e-4,
               .predicted_s = 2e-3,
               .low_s = 1e-3,
               .high_s = 3e-3,
               .bound = evil}};
  r.prediction = Prediction{.machine = evil, .model = evil, .steps = {{.floor_s = 1e-4, .bound = evil}}};
  r.prediction->has_times = true, r.prediction->predicted_s = 2e-3;
  r.measurement = Measurement{.steps = {{.seconds = {1e-3}}}, .run_s = {1e-3}};
  r.samples = Samples{.seconds = {0.1, 0.2}};
  r.samples->series = {
      {.info = {.key = evil, .name = evil, .unit = "%"}, .values = {1, 2}, .summary = {.readings = 2}}};
  r.samples->absent = {evil};
  Sheet sheet(evil, {{.key = evil, .title = evil}, {.key = "ms", .title = evil, .unit = "ms"}});
  sheet.row({evil, 1.0});
  sheet.row({evil + "2", 2.0});
  r.tables = {sheet};
  const std::string page = page_of(r);
  for (const char* id : {"layers", "roofline", "prediction", "utilisation", "tables"})
    EXPECT_TRUE(has_section(page, id)) << id;
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("</script><script>alert"), std::string::npos);
  EXPECT_EQ(html_text("<a b='c' d=\"e\">&"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
}

TEST(Page, HoldsItsRecordsToTheLastDigit) {
  RunRecord r = small_record();
  r.data = "a < b && \"c\" </script>";
  const std::vector<Json> found = records_in_page(page_of(r), "page.html");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], to_json(r));
  RunRecord other = small_record();
  other.time = "2026-02-02T00:00:00Z";
  r.measurement = other.measurement = Measurement{.run_s = std::vector<double>(20, 1e-3)};
  const std::vector<Json> both =
      records_in_page(html_page({{"a", {.record = r}}, {"b", {.record = other}}}), "both.html");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1], to_json(other));
}

TEST(Page, FilesThatAreNoPagesAreRejectedByName) {
  for (const char* text : {"", "<html></html>", "<script id=\"headroom-records\">[{\"headroom_record\"",
                           "<script id=\"headroom-records\">nonsense</script>"}) {
    try {
      records_in_page(text, "x.html");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.blame(), Blame::request);
      EXPECT_NE(std::string(error.what()).find("x.html"), std::string::npos);
    }
  }
}

TEST(Page, BarsShowTheShareOfTheLargestValueAndTotalsHaveNone) {
  Sheet sheet("t", {{.key = "name", .title = "name"}, {.key = "ms", .title = "ms", .unit = "ms"}});
  sheet.row({std::string("a"), 1.0});
  sheet.row({std::string("b"), 4.0});
  sheet.total({std::string("all"), 5.0});
  const std::string html = html_table(sheet, {.caption = "c", .bars = {"ms"}});
  EXPECT_NE(html.find("style=\"background-size:25.0% 72%\""), std::string::npos);
  EXPECT_NE(html.find("style=\"background-size:100.0% 72%\""), std::string::npos);
  EXPECT_EQ(html.find("background-size:100.0%", html.find("class=\"total\"")), std::string::npos);
  EXPECT_NE(html.find("data-value=\"4\""), std::string::npos) << "numbers for sorting";
}

TEST(Page, SettingsInMessagesAreShownAsOptions) {
  EXPECT_EQ(html_message("a larger `batch` <now>"), "a larger <code>--batch</code> &lt;now&gt;");
  EXPECT_EQ(html_message("cut `off"), "cut <code>--off</code>");
}

// The picture of a chart and the numbers that draw it again.
TEST(Page, FiguresHaveAPictureAndItsNumbers) {
  const std::string html =
      figure(BlockChart{.title = "t",
                        .rows = {"main"},
                        .blocks = {{0, 0, 1.5, 0, "first", "tip"}, {0, 1.5, 3, 1, "second"}},
                        .axis = {.label = "time", .unit = "ms"}});
  EXPECT_NE(html.find("data-kind=\"blocks\""), std::string::npos);
  EXPECT_NE(html.find("<svg"), std::string::npos);
  const std::size_t begin = html.find('{'), end = html.find("</script>");
  const Json data = Json::parse(html.substr(begin, end - begin));
  EXPECT_EQ(data["blocks"][1], Json({0, 1.5, 3.0, 1, 1}));
  EXPECT_EQ(data["names"][0], "first\ntip");
  EXPECT_THROW(figure(BlockChart{.rows = {}, .blocks = {{0, 0, 1, 0, "x"}}}), Error) << "on no row";
  EXPECT_THROW(figure(BlockChart{.rows = {"a"}, .blocks = {{0, 2, 1, 0, "x"}}}), Error)
      << "ends before it begins";
}

}  // namespace
}  // namespace headroom
