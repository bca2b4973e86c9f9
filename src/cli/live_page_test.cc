#include "cli/live_page.h"

#include <gtest/gtest.h>

#include <limits>

namespace headroom::cli {
namespace {

TEST(LiveCurve, KeepsEveryPointOfAShortRun) {
  LiveCurve curve;
  for (int step = 1; step <= 100; ++step) curve.add(step, step / 2.0);
  ASSERT_EQ(curve.points().size(), 100u);
  EXPECT_EQ(curve.points()[99].step, 100);
  EXPECT_EQ(curve.points()[99].value, 50);
}

TEST(LiveCurve, ThinsALongRunEvenly) {
  LiveCurve curve;
  for (int step = 1; step <= 1'000'000; ++step) {
    curve.add(step, 1.0 / step);
    ASSERT_LE(curve.points().size(), LiveCurve::kMaxPoints);
  }
  const auto& points = curve.points();
  EXPECT_GE(points.size(), LiveCurve::kMaxPoints / 2);
  EXPECT_EQ(points.front().step, 1);
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_EQ(points[i].step - points[i - 1].step, points[1].step - points[0].step);
    EXPECT_EQ(points[i].value, 1.0 / static_cast<double>(points[i].step));
  }
  EXPECT_GT(points.back().step, 1'000'000 - (points[1].step - points[0].step));
}

TEST(LiveCurve, LeavesOutWhatNoChartCanShow) {
  LiveCurve curve;
  curve.add(1, std::numeric_limits<double>::quiet_NaN());
  curve.add(2, std::numeric_limits<double>::infinity());
  curve.add(3, 1);
  ASSERT_EQ(curve.points().size(), 1u);
  EXPECT_EQ(curve.points()[0].step, 3);
}

TEST(LivePause, GrowsWithTheTimeThatDrawingTakes) {
  EXPECT_DOUBLE_EQ(live_pause(0).count(), 0.1);
  EXPECT_DOUBLE_EQ(live_pause(0.0005).count(), 0.1);
  EXPECT_DOUBLE_EQ(live_pause(0.02).count(), 2);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(LiveView, ShowsWhatIsKnownSoFar) {
  const LiveView view = plain_live_view();
  LiveState state{.title = "a<b on glyphs", .step = 7, .steps = 50, .loss = 1.25};
  state.losses.add(7, 1.25);
  LiveSections sections = view.sections(state);
  EXPECT_TRUE(holds(sections.summary, "<span id=\"step\">7</span>")) << sections.summary;
  EXPECT_TRUE(holds(sections.summary, "<span id=\"loss\">1.2500</span>")) << sections.summary;
  EXPECT_FALSE(holds(sections.summary, "accuracy")) << "no epoch has ended";
  EXPECT_TRUE(holds(sections.curves, "<svg"));
  const std::string page = view.page(state, sections);
  EXPECT_TRUE(holds(page, "a&lt;b on glyphs") && holds(page, "data-live=\"events\"")) << page;

  state.epochs.push_back({{.epoch = 1, .test_accuracy = 0.75, .test_loss = 0.5}, 7});
  state.ending = "the training ended";
  sections = view.sections(state);
  EXPECT_TRUE(holds(sections.summary, "<span id=\"accuracy\">0.7500</span>")) << sections.summary;
  EXPECT_TRUE(holds(sections.summary, "the training ended")) << sections.summary;
  EXPECT_FALSE(holds(view.page(state, sections), "data-live=\"events\""))
      << "a page that reloads itself forever";
}

// The final page is made even if nobody looked on, and tells the whole run.
TEST(LivePage, EndsWithTheWholeRun) {
  if (!has_live_server()) GTEST_SKIP() << "built without cpp-httplib (libcpp-httplib-dev)";
  std::vector<LiveState> shown;
  {
    const LiveView view{[](const LiveState&) {
                          return LiveSections{"s", "c"};
                        },
                        [&](const LiveState& state, const LiveSections& sections) {
                          EXPECT_EQ(sections.summary + sections.curves, "sc");
                          shown.push_back(state);
                          return std::string("page");
                        }};
    LivePage page({}, "mlp on glyphs", 0, view);
    page.begin(true, 32);
    for (int step = 41; step <= 44; ++step) page.on_step(step, 50, 1.0 / step);
    page.on_epoch({.epoch = 5, .test_accuracy = 0.5});
    page.on_step(45, 50, 0.25);
    page.end("stopped");
    page.end("twice");  // has no effect
    page.keep([] { return false; });
  }
  ASSERT_EQ(shown.size(), 2u) << "before the training, and at its end";
  const LiveState& last = shown.back();
  EXPECT_EQ(last.title, "mlp on glyphs");
  EXPECT_EQ(last.step, 45);
  EXPECT_EQ(last.steps, 50);
  EXPECT_EQ(last.loss, 0.25);
  EXPECT_EQ(last.losses.points().size(), 5u);
  ASSERT_EQ(last.epochs.size(), 1u);
  EXPECT_EQ(last.epochs[0].step, 44);
  EXPECT_EQ(last.epochs[0].result.test_accuracy, 0.5);
  EXPECT_EQ(last.ending, "stopped");
  EXPECT_GT(last.elapsed_s, 0);
  EXPECT_NEAR(last.images_per_second * last.elapsed_s, 5 * 32, 1e-6) << "a resumed run counts its own steps";
}

// A page that cannot be drawn is left as it is; the training knows nothing of it.
TEST(LivePage, AFailureToDrawDoesNotEndTheTraining) {
  if (!has_live_server()) GTEST_SKIP() << "built without cpp-httplib (libcpp-httplib-dev)";
  int calls = 0;
  const LiveView view{[&](const LiveState& state) -> LiveSections {
                        ++calls;
                        if (state.step > 0) throw std::runtime_error("no picture");
                        return {};
                      },
                      [](const LiveState&, const LiveSections&) { return std::string(); }};
  LivePage page({}, "mlp", 0, view);
  page.begin(true, 32);
  page.on_step(1, 2, 0.5);
  EXPECT_NO_THROW(page.end("the training ended"));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace headroom::cli
