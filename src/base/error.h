#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace headroom {

// Who has to act: a wrong request is mended by whoever made it (exit code 2), a failed run is not (1).
enum class Blame { request, run };

// What to try next; printed on its own line below the message.
struct Hint {
  std::string text;
};

// The one exception type: whatever stops the run. Expected refusals are return values (see Verdict).
class Error : public std::runtime_error {
 public:
  Error(Blame blame, const std::string& what, Hint hint = {})
      : std::runtime_error(what), blame_(blame), hint_(std::move(hint.text)) {}
  Blame blame() const { return blame_; }
  const std::string& hint() const { return hint_; }

 private:
  Blame blame_;
  std::string hint_;
};

template <class... Args>
[[noreturn]] void reject(Hint hint, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(Blame::request, fmt::format(text, std::forward<Args>(args)...), std::move(hint));
}

template <class... Args>
[[noreturn]] void reject(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(Blame::request, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(Blame::run, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace headroom
