#pragma once

// A test that opens pages in a browser. Skipped aloud where there is none.

#include "../support/program.h"
#include "driver.h"
#include "webdriver.h"

namespace headroom::testing {

class BrowserTest : public ProgramTest {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
    browser().reset();
  }
  static Browser& browser() { return Browser::get(); }

  // A page made of this body.
  std::filesystem::path page(const std::string& body) const {
    return put("page.html", "<!DOCTYPE html><html lang=\"en\"><title>page</title>" + body);
  }
};

}  // namespace headroom::testing
