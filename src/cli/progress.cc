#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "cli/options.h"

namespace headroom::cli {

Progress::Progress(std::string title) : title_(std::move(title)), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) note("\r\033[K");
  drawn_ = false;
}

void Progress::line(const std::string& text) {
  clear();
  note(text + "\n");
}

void Progress::update(std::int64_t done, std::int64_t of, const std::string& detail) {
  // Ten redraws a second look smooth; a log needs only a line every ten seconds.
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  const auto now = Clock::now();
  if (last_ == Clock::time_point{} && !terminal_) last_ = now;
  if (now - last_ < pause && done != of) return;
  if (done == of && !terminal_) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double share = of > 0 ? double(done) / double(of) : 0;
  const std::string left = share > 0.01 ? human_seconds(elapsed / share - elapsed) : "…";
  if (!terminal_) return note(fmt::format("{}: {} of {}, {}, {} left\n", title_, done, of, detail, left));
  constexpr int kWidth = 30;
  const int full = std::clamp(int(share * kWidth), 0, kWidth);
  note(fmt::format("\r\033[K{} [{}{}] {:3.0f}%  {}  {} left", title_, std::string(std::size_t(full), '#'),
                   std::string(std::size_t(kWidth - full), '.'), 100 * share, detail, left));
  drawn_ = true;
}

}  // namespace headroom::cli
