#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"

namespace headroom::cli {

Progress::Progress(const std::string& title)
    : title_(printable(title)), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
  if (skipped_ > 0)
    note(fmt::format("{}\n({} before it not printed)\n", last_skipped_, counted(skipped_, "line")));
}

void Progress::clear() {
  if (drawn_) draw("\r\033[K");
  drawn_ = false;
}

void Progress::line(const std::string& text, bool always) {
  // A log that nobody watches must not grow by thousands of lines.
  constexpr int kFreely = 100;
  const auto now = Clock::now();
  if (!always && !terminal_ && ++lines_ > kFreely && now - last_line_ < std::chrono::seconds(1)) {
    ++skipped_;
    last_skipped_ = text;
    return;
  }
  skipped_ = 0;
  last_line_ = now;
  clear();
  note(text + "\n");
}

// Ten redraws a second look smooth. A log gets a line after one second, then after ever longer pauses of up
// to ten.
bool Progress::is_time(Clock::time_point now) const {
  using namespace std::chrono_literals;
  if (terminal_) return now - last_ >= 100ms;
  const auto elapsed = now - start_;
  return now - last_ >= std::clamp<Clock::duration>(elapsed / 2, 1s, 10s);
}

void Progress::stage(const std::string& what, bool log) {
  const auto now = Clock::now();
  if (!terminal_ && !log) return;
  if (last_ != Clock::time_point{} && !terminal_ && !is_time(now)) return;
  last_ = now;
  if (!terminal_) return note(fmt::format("{}: {}\n", title_, what));
  draw(fmt::format("\r\033[K{}: {}", title_, printable(what)));
  drawn_ = true;
}

void Progress::update(std::int64_t done, std::int64_t of, const std::string& detail) {
  const auto now = Clock::now();
  if (last_ == Clock::time_point{} && !terminal_) last_ = start_;
  if (!is_time(now) && (done != of || !terminal_)) return;
  if (done == of && !terminal_) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double share = of > 0 ? double(done) / double(of) : 0;
  const std::string left = share > 0.01 ? human_seconds(elapsed / share - elapsed) : "…";
  if (!terminal_) return note(fmt::format("{}: {} of {}, {}, {} left\n", title_, done, of, detail, left));
  constexpr int kWidth = 30;
  const int full = std::clamp(int(share * kWidth), 0, kWidth);
  draw(fmt::format("\r\033[K{} [{}{}] {:3.0f}%  {}  {} left", title_, std::string(std::size_t(full), '#'),
                   std::string(std::size_t(kWidth - full), '.'), 100 * share, printable(detail), left));
  drawn_ = true;
}

}  // namespace headroom::cli
