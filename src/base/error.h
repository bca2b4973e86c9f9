#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "headroom/error.h"

namespace headroom {

// Expected refusals are return values (see Verdict); these functions throw what stops the run.
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
