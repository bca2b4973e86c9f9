#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace headroom {

// Who has to act: a wrong request is mended by whoever made it (exit code 2 of the program), a failed run is
// not (1).
enum class Blame { request, run };

// What to try next; printed on its own line below the message. Here and in messages a setting stands in
// backticks, such as `batch`. The program prints it as its option, --batch.
struct Hint {
  std::string text;
};

// The one exception type: whatever stops the run. what() says what was wrong and where, hint() what to try;
// the hint may be empty.
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

}  // namespace headroom
