#include "webdriver.h"

#include <chrono>
#include <thread>

#include "base/file.h"
#include "driver.h"

namespace headroom::testing {
namespace {

constexpr const char* kElementKey = "element-6066-11e4-a52e-4f735466cecf";  // by the WebDriver standard

// "QUJD" as "ABC".
std::string from_base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) break;
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

std::vector<std::string> code_points(const std::string& text) {
  std::vector<std::string> list;
  for (const char c : text) {
    const bool continued = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (!continued) list.emplace_back();
    list.back() += c;
  }
  return list;
}

}  // namespace

Browser& Browser::get() {
  static Browser browser;
  return browser;
}

Browser::Browser() : driver_(std::make_unique<Driver>()) {
  const Json wanted = {{"browserName", "chrome"},
                       {"goog:loggingPrefs", {{"browser", "ALL"}, {"performance", "ALL"}}},
                       {"goog:chromeOptions",
                        {{"binary", browser_program()},
                         {"args",
                          {"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--no-first-run", "--remote-debugging-pipe", "--window-size=1280,800"}}}}};
  const Json made = driver_->ask("POST", "/session", {{"capabilities", {{"alwaysMatch", wanted}}}});
  session_ = "/session/" + made.at("sessionId").get<std::string>();
}

Browser::~Browser() {
  try {
    driver_->ask("DELETE", session_, {});
  } catch (const std::exception&) {  // it is killed next
  }
}

Json Browser::call(const char* method, const std::string& path, const Json& body) {
  return driver_->ask(method, session_ + path, body);
}

Json Browser::devtools(const std::string& command, const Json& parameters) {
  return call("POST", "/goog/cdp/execute", {{"cmd", command}, {"params", parameters}});
}

void Browser::reset() {
  open(std::string("about:blank"));
  resize(1280, 800);
  emulate("", "light");
  console_errors();
  requests();
}

void Browser::open(const std::string& url) { call("POST", "/url", {{"url", url}}); }

Json Browser::run(const std::string& script, const Json& arguments) {
  return call("POST", "/execute/sync", {{"script", script}, {"args", arguments}});
}

Json Browser::run_async(const std::string& script, const Json& arguments) {
  return call("POST", "/execute/async", {{"script", script}, {"args", arguments}});
}

Json Browser::wait_until(const std::string& script, double seconds) {
  const auto now = std::chrono::steady_clock::now;
  const auto end = now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const Json found = run(script);
    const bool no = found.is_null() || found == false || found == 0 || found == "";
    if (!no) return found;
    if (now() > end) fail("still not true after {} s: {}", seconds, script);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string Browser::element(const std::string& css) {
  const Json found = call("POST", "/element", {{"using", "css selector"}, {"value", css}});
  return "/element/" + found.at(kElementKey).get<std::string>();
}

// The driver scrolls to the element, too, but does not wait for a page that scrolls smoothly.
void Browser::click(const std::string& css) {
  run("document.querySelector(arguments[0])?.scrollIntoView({block: 'center', behavior: 'instant'})",
      Json::array({css}));
  call("POST", element(css) + "/click");
}

void Browser::type(const std::string& css, const std::string& text) {
  call("POST", element(css) + "/value", {{"text", text}});
}

// In one call: a page that updates itself may replace the element between two.
std::string Browser::text(const std::string& css) {
  const Json found =
      run("return document.querySelector(arguments[0])?.innerText?.trim()", Json::array({css}));
  if (found.is_null()) fail("the page has no {}", css);
  return found;
}

std::int64_t Browser::count(const std::string& css) {
  return run("return document.querySelectorAll(arguments[0]).length", Json::array({css}));
}

void Browser::press(const std::string& text, bool shift) {
  Json actions = Json::array();
  const auto add = [&](const char* type, const std::string& key) {
    actions.push_back({{"type", type}, {"value", key}});
  };
  if (shift) add("keyDown", kShiftKey);
  for (const std::string& key : code_points(text)) add("keyDown", key), add("keyUp", key);
  if (shift) add("keyUp", kShiftKey);
  const Json keyboard = {{"type", "key"}, {"id", "keyboard"}, {"actions", actions}};
  call("POST", "/actions", {{"actions", Json::array({keyboard})}});
}

void Browser::keys(const std::string& text) { press(text, false); }
void Browser::shifted_keys(const std::string& text) { press(text, true); }

// A window cannot be as narrow as a telephone; the page in it can.
void Browser::resize(int width, int height) {
  devtools("Emulation.setDeviceMetricsOverride",
           {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

void Browser::emulate(const std::string& medium, const std::string& colour_scheme) {
  const Json scheme = {{"name", "prefers-color-scheme"}, {"value", colour_scheme}};
  devtools("Emulation.setEmulatedMedia", {{"media", medium}, {"features", Json::array({scheme})}});
}

std::vector<Json> Browser::log(const std::string& kind) {
  return call("POST", "/se/log", {{"type", kind}}).get<std::vector<Json>>();
}

std::vector<std::string> Browser::console_errors() {
  std::vector<std::string> errors;
  for (const Json& entry : log("browser"))
    if (entry.at("level") == "SEVERE") errors.push_back(entry.at("message"));
  return errors;
}

std::vector<std::string> Browser::requests() {
  std::vector<std::string> addresses;
  for (const Json& entry : log("performance")) {
    const Json event = Json::parse(entry.at("message").get<std::string>()).at("message");
    if (event.at("method") == "Network.requestWillBeSent")
      addresses.push_back(event.at("params").at("request").at("url"));
  }
  return addresses;
}

void Browser::screenshot(const std::filesystem::path& png) {
  write_file(png, from_base64(call("GET", "/screenshot").get<std::string>()));
}

}  // namespace headroom::testing
