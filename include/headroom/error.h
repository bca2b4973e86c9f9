#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace headroom {

// Who has to act. `request`: the caller made a wrong request and can correct it (the program exits with 2).
// `run`: the run failed (exit code 1).
enum class Blame { request, run };

// The next thing to try. It is printed on its own line below the message.
// Here and in messages a setting stands in backticks: `batch`. The program prints it as --batch.
struct Hint {
  std::string text;
};

// The only exception type; it means that the run cannot go on. what() says what is wrong and where. hint()
// says what to try; it may be empty.
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
