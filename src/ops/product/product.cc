#include "ops/product/product.h"

#include <algorithm>

namespace headroom {

std::int64_t Product::most_at_once() const {
  std::int64_t most = 0;
  for (const ProductRun& run : runs) most = std::max(most, run.count);
  return most;
}

std::vector<ProductRun> runs_of(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                                std::int64_t c_elements) {
  constexpr std::int64_t kMaxPerRun = 16384;  // a grid's third dimension ends at 65535, and splits share it
  std::vector<ProductRun> runs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!runs.empty()) {
      ProductRun& last = runs.back();
      if (last.count == 1) last.stride_a = a[i] - last.a, last.stride_b = b[i] - last.b;
      if (last.count < kMaxPerRun && a[i] == last.a + last.count * last.stride_a &&
          b[i] == last.b + last.count * last.stride_b && last.stride_a >= 0 && last.stride_b >= 0) {
        ++last.count;
        continue;
      }
    }
    runs.push_back(
        {.a = a[i], .b = b[i], .c = static_cast<std::int64_t>(i) * c_elements, .stride_c = c_elements});
  }
  for (ProductRun& run : runs)
    if (run.count == 1) run.stride_a = run.stride_b = run.stride_c = 0;
  return runs;
}

}  // namespace headroom
