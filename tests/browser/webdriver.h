#pragma once

// A browser for tests: Chromium without a window, driven over the WebDriver protocol by chromedriver.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace headroom::testing {

// Keys without a letter, by their WebDriver code points.
inline constexpr const char* kTabKey = "\uE004";
inline constexpr const char* kEnterKey = "\uE007";
inline constexpr const char* kShiftKey = "\uE008";
inline constexpr const char* kEscapeKey = "\uE00C";
inline constexpr const char* kLeftKey = "\uE012";
inline constexpr const char* kUpKey = "\uE013";
inline constexpr const char* kRightKey = "\uE014";
inline constexpr const char* kDownKey = "\uE015";

class Driver;

// The one browser session of a test process. It ends with the process: at a normal end by its destructor,
// after a crash because the kernel kills chromedriver and Chromium follows it. Every function fails (throws
// an Error) if the browser refuses.
class Browser {
 public:
  static Browser& get();  // starts the session on first use
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // An empty page of 1280 x 800 pixels, light, with empty logs.
  void reset();

  void open(const std::string& url);  // returns when the page has loaded
  void open(const std::filesystem::path& file) { open("file://" + file.string()); }
  // The script is the body of a function; `arguments` holds the array's items.
  Json run(const std::string& script, const Json& arguments = Json::array());
  // The same for a script that ends when it calls its last argument.
  Json run_async(const std::string& script, const Json& arguments = Json::array());
  // Until the script returns something true. Fails after `seconds`, which a slow machine must not reach.
  Json wait_until(const std::string& script, double seconds = 60);

  // These take the first element that a CSS selector matches.
  void click(const std::string& css);
  void type(const std::string& css, const std::string& text);
  std::string text(const std::string& css);
  std::int64_t count(const std::string& css);

  void keys(const std::string& text);          // one after the other, to whatever has the focus
  void shifted_keys(const std::string& text);  // the same while shift is down

  void resize(int width, int height);  // of the page, in CSS pixels
  // Each call sets both: the medium ("print", or "" for the screen) and the colour scheme.
  void emulate(const std::string& medium, const std::string& colour_scheme);

  // Since the last call. Errors include uncaught exceptions and resources that could not be loaded.
  std::vector<std::string> console_errors();
  std::vector<std::string> requests();  // addresses of everything that pages asked for, themselves included

  void screenshot(const std::filesystem::path& png);

 private:
  Browser();
  ~Browser();
  Json call(const char* method, const std::string& path, const Json& body = Json::object());
  Json devtools(const std::string& command, const Json& parameters);
  std::string element(const std::string& css);
  std::vector<Json> log(const std::string& kind);
  void press(const std::string& text, bool shift);

  std::unique_ptr<Driver> driver_;
  std::string session_;  // "/session/..."
};

}  // namespace headroom::testing
