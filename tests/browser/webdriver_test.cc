// The instrument itself: what goes wrong in a page is seen.
#include "browser_test.h"

namespace headroom::testing {
namespace {

using Strings = std::vector<std::string>;

class BrowserInstrument : public BrowserTest {};

TEST_F(BrowserInstrument, SeesErrorsOfTheConsole) {
  browser().open(page("<p>well</p>"));
  EXPECT_EQ(browser().console_errors(), Strings{});
  browser().open(
      page("<script>console.log('fine'); console.error('told');</script>"
           "<script>nowhere.to_be_found()</script>"));
  const Strings errors = browser().console_errors();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_NE(errors[0].find("told"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("nowhere is not defined"), std::string::npos) << errors[1];
  EXPECT_EQ(browser().console_errors(), Strings{}) << "each is reported once";
}

TEST_F(BrowserInstrument, SeesRequests) {
  const std::string alone = "file://" + page("<p>alone</p>").string();
  browser().open(alone);
  EXPECT_EQ(browser().requests(), Strings{alone});
  // Port 9 of this machine discards; nobody listens there, and nothing leaves the machine.
  browser().open(page("<img src='http://127.0.0.1:9/there.png' alt=''>"));
  EXPECT_EQ(browser().requests(), (Strings{alone, "http://127.0.0.1:9/there.png"}));
  EXPECT_EQ(browser().console_errors().size(), 1u) << "it could not be loaded";
}

TEST_F(BrowserInstrument, ClicksTypesAndReads) {
  browser().open(page(
      "<p id=out>none</p><p hidden class=row></p><p class=row>shown</p>"
      "<button onclick='out.textContent = \"pressed \" + word.value'>go</button>"
      "<input id=word autofocus onkeydown='if (event.key == \"Enter\") out.textContent = \"entered\"'>"));
  EXPECT_EQ(browser().text("#out"), "none");
  EXPECT_EQ(browser().count(".row"), 2);
  EXPECT_EQ(browser().count("table"), 0);
  browser().type("#word", "löss");
  browser().click("button");
  EXPECT_EQ(browser().text("#out"), "pressed löss");
  EXPECT_THROW(browser().click("#nowhere"), Error);

  browser().keys(kTabKey);  // from the button to the field
  EXPECT_EQ(browser().run("return document.activeElement.id"), "word");
  browser().keys(std::string("es") + kEnterKey);
  EXPECT_EQ(browser().text("#out"), "entered");
  EXPECT_EQ(browser().run("return word.value"), "es") << "the key Tab selects what was there";
  browser().shifted_keys(kTabKey);
  EXPECT_EQ(browser().run("return document.activeElement.tagName"), "BUTTON");
}

TEST_F(BrowserInstrument, RunsScriptsAndWaits) {
  browser().open(page("<p>0</p><script>let n = 0; setInterval(() => ++n, 5)</script>"));
  EXPECT_EQ(browser().run("return [arguments[0] + 1, document.title]", {2}), (Json{3, "page"}));
  EXPECT_EQ(browser().run_async("setTimeout(() => arguments[1](arguments[0] * 2), 1)", {4}), 8);
  EXPECT_GT(browser().wait_until("return n > 3 ? n : 0"), 3);
  EXPECT_THROW(browser().wait_until("return n < 0", 0.1), Error);
  EXPECT_THROW(browser().run("return no.such.thing"), Error);
}

TEST_F(BrowserInstrument, SetsSizeColoursAndMedium) {
  browser().open(
      page("<style>body { color: rgb(1, 1, 1) } @media print { body { color: rgb(2, 2, 2) } }"
           "@media (prefers-color-scheme: dark) { body { color: rgb(3, 3, 3) } }</style>"));
  const auto colour = [&] { return browser().run("return getComputedStyle(document.body).color"); };
  EXPECT_EQ(colour(), "rgb(1, 1, 1)");
  browser().emulate("", "dark");
  EXPECT_EQ(colour(), "rgb(3, 3, 3)");
  browser().emulate("print", "light");
  EXPECT_EQ(colour(), "rgb(2, 2, 2)");
  browser().resize(390, 700);
  EXPECT_EQ(browser().run("return [innerWidth, innerHeight]"), (Json{390, 700}));
  browser().screenshot(file("page.png"));
  const std::string png = read_file(file("page.png"));
  ASSERT_GT(png.size(), 24u);
  EXPECT_EQ(png.substr(1, 3), "PNG");
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\x01\x86\0\0\x02\xbc", 8)) << "390 x 700 pixels";
}

}  // namespace
}  // namespace headroom::testing
