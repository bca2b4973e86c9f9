#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headroom::cli {

// A bar that redraws itself on a terminal; an occasional plain line elsewhere. Always on standard error.
class Progress {
 public:
  explicit Progress(std::string title);
  ~Progress();  // leaves the cursor on a new line
  void update(std::int64_t done, std::int64_t of, const std::string& detail);
  void line(const std::string& text);  // a permanent line above the bar

 private:
  using Clock = std::chrono::steady_clock;
  void clear();

  std::string title_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_ = {};
};

}  // namespace headroom::cli
