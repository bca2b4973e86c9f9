// The page about a run, as a browser shows it.
#include <algorithm>

#include "browser_test.h"
#include "page_checks.h"

namespace headroom::testing {
namespace {

class BrowserReport : public BrowserTest {
 protected:
  using Strings = std::vector<std::string>;

  // Opens the page of a short training from disk. The training runs once per process.
  std::string open_report(const std::string& model = "lenet5") {
    static std::string html, json;
    if (html.empty()) {
      succeed({"train", model, "--data", "glyphs", "--train-size", "256", "--test-size", "64", "--epochs",
               "3", "--threads", "1", "--record", "run.json"});
      succeed({"report", "run.json", "-o", "run.html"});
      html = read_file(file("run.html")), json = read_file(file("run.json"));
    }
    record_ = Json::parse(json);
    const std::string url = "file://" + put("run.html", html).string();
    browser().open(url);
    return url;
  }

  // The numbers of a column of the layer table, from the top; the row of totals is left out.
  std::vector<double> column(const std::string& title) {
    return browser()
        .run(R"(const table = document.querySelector('#layers table');
                const heads = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
                return [...table.tBodies[0].rows].filter(row => !row.classList.contains('total'))
                    .map(row => Number(row.cells[heads.indexOf(arguments[0])].dataset.value || 0));)",
             Json::array({title}))
        .get<std::vector<double>>();
  }
  void focus_head(const std::string& title) {
    browser().run(R"([...document.querySelectorAll('#layers thead button')]
                         .find(button => button.textContent == arguments[0]).focus();)",
                  Json::array({title}));
  }

  Json record_;
};

TEST_F(BrowserReport, OpensFromDiskAndAsksForNothingElse) {
  const std::string url = open_report();
  for (const char* id : {"#summary", "#curves", "#layers", "#roofline", "#origin"})
    EXPECT_EQ(browser().count(id), 1) << id;
  EXPECT_EQ(browser().console_errors(), Strings{});
  EXPECT_EQ(browser().requests(), Strings{url});
}

TEST_F(BrowserReport, NumbersAreThoseOfTheRecord) {
  open_report();
  const Json& layers = record_.at("measurement").at("layers");
  const std::vector<double> forward = column("forward ms");
  ASSERT_EQ(forward.size(), layers.size());
  for (std::size_t i = 0; i < forward.size(); ++i)
    EXPECT_NEAR(forward[i], layers[i].at("forward_ms").get<double>(), 1e-6) << layers[i];
  EXPECT_GT(*std::ranges::max_element(forward), 0);
  const double accuracy = record_.at("curve").back().at("accuracy").at("test");
  const std::string summary = browser().text("#summary .facts");
  EXPECT_NE(summary.find(fmt::format("{:.4f}", accuracy)), std::string::npos) << summary;
}

// By the keyboard alone.
TEST_F(BrowserReport, AHeadSortsItsColumn) {
  open_report();
  std::vector<double> sorted = column("forward ms");
  std::ranges::sort(sorted);
  focus_head("forward ms");
  browser().keys(kEnterKey);
  EXPECT_EQ(column("forward ms"), std::vector<double>(sorted.rbegin(), sorted.rend()));
  browser().keys(" ");
  EXPECT_EQ(column("forward ms"), sorted);
  EXPECT_EQ(browser().run("return document.querySelectorAll('#layers [aria-sort]').length"), 1);
}

TEST_F(BrowserReport, TheSearchHidesOtherRows) {
  open_report();
  const std::string visible =
      "return [...document.querySelectorAll('#layers tbody tr:not(.total)')].filter(row => !row.hidden)"
      ".map(row => row.cells[0].textContent)";
  const std::size_t all = browser().run(visible).size();
  browser().type("#layers .search input", "c1");
  EXPECT_EQ(browser().run(visible), Json::array({"C1"}));
  browser().type("#layers .search input", "\uE003\uE003");  // the key Backspace
  EXPECT_EQ(browser().run(visible).size(), all);
}

TEST_F(BrowserReport, ChartsZoom) {
  open_report();
  if (browser().run("return !window.d3")) GTEST_SKIP() << "headroom was built without d3 (node-d3)";
  const auto ticks = [&] {
    return browser().run(
        "return [...document.querySelectorAll('#curves .drawn svg .axis')].map(a => a.textContent)");
  };
  const Json before = ticks();
  browser().click("#curves .controls button[aria-label^='zoom in']");
  EXPECT_NE(ticks(), before);
  browser().click("#curves .controls button[aria-label^='show all']");
  EXPECT_EQ(ticks(), before);
  EXPECT_EQ(browser().console_errors(), Strings{});
}

// A profile has a timeline, on a canvas: keys zoom, and name one event after another.
TEST_F(BrowserReport, TheTimelineIsReadByKeys) {
  succeed({"profile", "mlp:hidden=16", "--batch", "8", "--threads", "1", "--report", "p.html"});
  browser().open("file://" + file("p.html").string());
  if (browser().run("return !window.d3")) GTEST_SKIP() << "headroom was built without d3 (node-d3)";
  const auto shown = [&] {
    return browser()
        .run(R"(const blocks = document.querySelector('#timeline figure').headroomBlocks;
                            const [from, to] = blocks.scale().domain();
                            return to - from;)")
        .get<double>();
  };
  const double all = shown();
  browser().run("document.querySelector('#timeline canvas').focus()");
  browser().keys("+");
  EXPECT_NEAR(shown(), all / 1.6, 1e-6 * all);
  browser().keys("n");
  const std::string first = browser().text("#timeline .tip");
  browser().keys("n");
  const std::string second = browser().text("#timeline .tip");
  EXPECT_NE(first, "");
  EXPECT_NE(first, second);
  browser().keys("0");
  EXPECT_NEAR(shown(), all, 1e-6 * all);
  EXPECT_EQ(browser().console_errors(), Strings{});
}

TEST_F(BrowserReport, EveryTextHasContrast) {
  open_report();
  for (const char* scheme : {"light", "dark"}) {
    browser().emulate("", scheme);
    EXPECT_EQ(faint_texts(browser()), Strings{}) << scheme;
  }
}

TEST_F(BrowserReport, ANarrowScreenDoesNotScrollSideways) {
  browser().resize(390, 800);
  open_report();
  EXPECT_EQ(sideways_overflow(browser()), Strings{});
}

TEST_F(BrowserReport, TheKeyboardReachesEverything) {
  open_report("mlp:hidden=16");  // fewer keys to press
  EXPECT_EQ(unreached_by_tab(browser()), Strings{});
}

}  // namespace
}  // namespace headroom::testing
