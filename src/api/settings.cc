#include "api/settings.h"

#include <vector>

#include "base/text.h"

namespace headroom {

DType precision_named(const std::string& name) {
  const auto parsed = parse_dtype(name);
  if (parsed && (*parsed == DType::f32 || *parsed == DType::f64)) return *parsed;
  reject(nearest(name, std::vector<std::string>{"fp32", "fp64"}), "the CPU does not compute in '{}'", name);
}

void require_threads(int threads) {
  constexpr int kMost = 4096;
  if (threads < 0 || threads > kMost)
    reject("threads is {}; it must lie between 1 and {}, or be 0 for one per core", threads, kMost);
}

void require_at_least_one(std::int64_t value, const char* what) {
  if (value < 1) reject("{} is {}; it must be at least 1", what, value);
}

}  // namespace headroom
