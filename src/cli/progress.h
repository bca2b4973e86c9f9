#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headroom::cli {

// A bar that redraws itself on a terminal; an occasional plain line elsewhere. Always on standard error.
class Progress {
 public:
  explicit Progress(const std::string& title);
  void clear();  // removes the bar
  ~Progress();   // leaves the cursor on a new line
  void update(std::int64_t done, std::int64_t of, const std::string& detail);
  // The same for work of unknown length, shown at once; in a log only if `log`.
  void stage(const std::string& what, bool log = true);
  // A permanent line above the bar. Elsewhere than on a terminal, at most one a second after the first
  // hundred; the last is always printed.
  void line(const std::string& text, bool always = false);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_time(Clock::time_point now) const;

  std::string title_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_ = {}, last_line_ = {};
  std::int64_t lines_ = 0, skipped_ = 0;
  std::string last_skipped_;
};

}  // namespace headroom::cli
