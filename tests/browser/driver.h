#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"

namespace headroom::testing {

std::string browser_program();  // the path of Chromium; empty: there is none
// Empty if tests can drive a browser here, otherwise the reason.
std::string why_no_browser();

// The process chromedriver, a folder for everything that it and the browser write, and the connection to it.
class Driver {
 public:
  Driver();
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Sends a command and returns the `value` of the answer. Fails (throws an Error) if it is an error.
  Json ask(const std::string& method, const std::string& path, const Json& body);

 private:
  struct Connection;
  void start();
  int find_port();

  std::filesystem::path folder_;
  pid_t pid_ = -1;
  std::unique_ptr<Connection> connection_;
};

}  // namespace headroom::testing
