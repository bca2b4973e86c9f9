// The checks see what they are for, and nothing else.
#include "page_checks.h"
#include "browser_test.h"

namespace headroom::testing {
namespace {

class BrowserPageChecks : public BrowserTest {
 protected:
  using Strings = std::vector<std::string>;
  Strings faint(const std::string& body) {
    browser().open(page("<body>" + body));
    return faint_texts(browser());
  }
};

TEST_F(BrowserPageChecks, ContrastIsThatOfWcag) {
  // 767676 on white has 4.54, 777777 has 4.48; large text needs 3.
  EXPECT_EQ(faint("<p style='color: #767676'>grey</p>"), Strings{});
  const Strings found = faint("<p style='color: #777777'>grey</p><p>black</p>");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "4.48: 'grey', 119,119,119 on 255,255,255");
  EXPECT_EQ(faint("<p style='color: #777777; font-size: 24px'>large</p>"), Strings{});
  EXPECT_EQ(faint("<p style='color: #999999; font-size: 24px'>large</p>").size(), 1u);
}

TEST_F(BrowserPageChecks, ContrastCountsEveryLayer) {
  EXPECT_EQ(
      faint("<div style='background: black'><p style='background: #ffffff10'>dark on dark</p></div>").size(),
      1u);
  EXPECT_EQ(faint("<div style='background: black; color: white'><p>light on dark</p></div>"), Strings{});
  EXPECT_EQ(faint("<p style='opacity: 0.4'>half seen</p>").size(), 1u);
  EXPECT_EQ(faint("<p style='color: white; visibility: hidden'>unseen</p>"
                  "<p style='color: white; display: none'>unseen</p>"),
            Strings{});
  const std::string picture =
      "<svg width=100 height=50><rect width=100 height=50 fill='{}'/><text x=5 y=30 "
      "fill='{}'>word</text></svg>";
  EXPECT_EQ(faint(fmt::format(fmt::runtime(picture), "#222", "white")), Strings{});
  EXPECT_EQ(faint(fmt::format(fmt::runtime(picture), "#222", "#333")).size(), 1u);
}

TEST_F(BrowserPageChecks, ContrastKnowsTheColourScheme) {
  const std::string both = "<meta name=color-scheme content='light dark'><p style='color: #222'>word</p>";
  EXPECT_EQ(faint(both), Strings{});
  browser().emulate("", "dark");
  EXPECT_EQ(faint(both).size(), 1u) << "the page is dark now";
}

TEST_F(BrowserPageChecks, SeesWhatScrollsSideways) {
  browser().resize(390, 700);
  browser().open(page("<div style='overflow: auto'><div style='width: 900px'>scrolls by itself</div></div>"));
  EXPECT_EQ(sideways_overflow(browser()), Strings{});
  browser().open(page("<div id=wide style='width: 900px'>too wide</div>"));
  EXPECT_EQ(sideways_overflow(browser()), Strings{"div#wide."});
}

TEST_F(BrowserPageChecks, SeesWhatTheKeyboardMisses) {
  browser().open(
      page("<a href='#x'>link</a><button>go</button><input name=word>"
           "<input type=radio name=r><input type=radio name=r><button disabled>no</button>"
           "<details><summary>more</summary><button>hidden</button></details>"));
  EXPECT_EQ(unreached_by_tab(browser()), Strings{});
  browser().open(
      page("<span onclick='1'>mouse alone</span>"
           "<button style='outline: none'>unseen</button>"
           "<button id=trap onkeydown='event.preventDefault()'>trap</button><button>after</button>"));
  EXPECT_EQ(unreached_by_tab(browser()),
            (Strings{"cannot get the focus: span# 'mouse alone'", "not reached: button# 'after'",
                     "looks the same with the focus: button# 'unseen'"}));
}

}  // namespace
}  // namespace headroom::testing
