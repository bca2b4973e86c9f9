// The live page of a training, as a browser shows it.
#include <signal.h>

#include <chrono>
#include <thread>

#include "browser_test.h"
#include "page_checks.h"

namespace headroom::testing {
namespace {

class BrowserLive : public BrowserTest {
 protected:
  void TearDown() override {
    if (child_ > 0) ::kill(child_, SIGKILL), wait_for(child_);
  }

  // Starts a training of many epochs and returns the address of its page.
  std::string train(const Words& more, const std::string& epochs = "100000") {
    child_ = start(with({"train", "lenet5", "--data", "glyphs", "--train-size", "256", "--test-size", "64",
                         "--batch", "32", "--threads", "1", "--epochs", epochs},
                        more));
    const std::string before = "live page at ";
    for (int tries = 0; tries < 6'000; ++tries) {
      const std::string said = std::filesystem::exists(err_) ? read_file(err_) : "";
      const std::size_t at = said.find(before), end = said.find('\n', at);
      if (at != said.npos && end != said.npos)
        return said.substr(at + before.size(), end - at - before.size());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    fail("the program does not say where its page is");
  }
  Outcome end(int signal) {
    ::kill(child_, signal);
    return finish(std::exchange(child_, -1));
  }
  std::int64_t step_after(std::int64_t step) {
    return browser().wait_until(fmt::format(
        "const n = Number(document.getElementById('step').textContent); return n > {} && n", step));
  }

 private:
  pid_t child_ = -1;
};

TEST_F(BrowserLive, TheStepGrowsDuringTheTraining) {
  const std::string url = train({"--live", "0"});
  browser().open(url);
  const std::int64_t first = step_after(0), second = step_after(first);
  EXPECT_GT(step_after(second), first);
  EXPECT_EQ(browser().count("#curves .picture svg"), 1);
  EXPECT_EQ(browser().text("#status"), "training");
  EXPECT_EQ(browser().run("return document.title"), "headroom: lenet5 on glyphs");
  browser().wait_until("return document.getElementById('accuracy')");
  EXPECT_EQ(browser().console_errors(), std::vector<std::string>{});
  EXPECT_EQ(browser().requests(), (std::vector<std::string>{url, url + "events"}));

  EXPECT_EQ(end(SIGINT).code, 130);
  browser().wait_until("return document.getElementById('status').textContent == 'stopped'");
  EXPECT_EQ(browser().count("#curves .picture svg"), 1)
      << "the page keeps what it has when the program is gone";
  EXPECT_EQ(browser().console_errors(), std::vector<std::string>{});
}

TEST_F(BrowserLive, ThePageIsReadableOnSmallScreensAndInTheDark) {
  browser().open(train({"--live"}));
  step_after(0);
  browser().wait_until("return document.getElementById('accuracy')");
  for (const char* scheme : {"light", "dark"}) {
    browser().emulate("", scheme);
    EXPECT_EQ(faint_texts(browser()), std::vector<std::string>{}) << scheme;
  }
  browser().resize(390, 800);
  EXPECT_EQ(sideways_overflow(browser()), std::vector<std::string>{});
}

TEST_F(BrowserLive, TheFinalPageStaysForAsLongAsWished) {
  const std::string url = train({"--live", "0", "--live-keep", "10m"}, "20");
  browser().open(url);
  // The page about the whole run takes its place by itself, and does not ask for events any more.
  browser().wait_until("return document.getElementById('layers')");
  EXPECT_FALSE(browser().run("return 'live' in document.body.dataset").get<bool>());
  EXPECT_NE(browser().text("#summary").find("after 20 epochs"), std::string::npos);
  browser().open(url);
  EXPECT_EQ(browser().count("#layers"), 1);
  EXPECT_EQ(browser().console_errors(), std::vector<std::string>{});
  const Outcome outcome = end(SIGTERM);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("lenet5"), std::string::npos) << "the result is printed before the wait";
}

TEST_F(BrowserLive, AnotherAddressDemandsItsToken) {
  const std::string url = train({"--live", "--live-address", "127.0.0.1"});
  browser().open(url.substr(0, url.find('?')));
  EXPECT_NE(browser().text("body").find("lacks the token"), std::string::npos);
  EXPECT_FALSE(browser().console_errors().empty()) << "403";
  browser().open(url);
  EXPECT_GT(step_after(0), 0) << "the page gives the token to the stream of events";
  EXPECT_EQ(browser().console_errors(), std::vector<std::string>{});
}

}  // namespace
}  // namespace headroom::testing
