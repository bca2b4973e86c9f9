#include "api/settings.h"

#include <vector>

#include "base/text.h"

namespace headroom {

Precision precision_named(const std::string& name) {
  if (name == "tf32") return {DType::f32, true};
  const auto parsed = parse_dtype(name);
  if (parsed && is_float(*parsed)) return {*parsed, false};
  reject(nearest(name, std::vector<std::string>{"fp32", "fp64", "tf32", "bf16", "fp16"}),
         "there is no precision '{}'", name);
}

DType cpu_precision(const std::string& name) {
  const Precision precision = precision_named(name);
  if (!precision.tf32 && !is_narrow(precision.dtype)) return precision.dtype;
  reject(Hint{"fp32 or fp64"}, "the CPU does not compute in '{}'", name);
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
