#include "cli/counts.h"

#include <limits>

#include "base/text.h"

namespace headroom::cli {
namespace {

std::int64_t factor_of(char suffix) {
  switch (suffix) {
    case 'k':
      return 1'000;
    case 'M':
      return 1'000'000;
    case 'G':
      return 1'000'000'000;
    default:
      return 1;
  }
}

std::int64_t whole_number(const std::string& text, std::size_t digits, std::string_view option) {
  try {
    return parse_int(text.substr(0, digits), option);
  } catch (const Error&) {
    reject(Hint{"500k, 1M, 2G and 2000000 are some"}, "{} is '{}', which is not a whole number", option,
           printable(text));
  }
}

}  // namespace

std::vector<std::int64_t> parse_counts(std::string_view list, std::string_view option) {
  std::vector<std::int64_t> numbers;
  for (const std::string& text : split(list, ',')) {
    const std::int64_t factor = text.size() > 1 ? factor_of(text.back()) : 1;
    const std::int64_t number = whole_number(text, factor == 1 ? text.size() : text.size() - 1, option);
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max(),
                   kMin = std::numeric_limits<std::int64_t>::min();
    if (number > kMax / factor || number < kMin / factor)
      reject(Hint{"write a smaller number"}, "{} has {}, which is too large", option, text);
    numbers.push_back(number * factor);
  }
  return numbers;
}

}  // namespace headroom::cli
