#include "bench/vadd_cpu.h"

namespace headroom {
namespace {

float first_at(VaddValues values, std::int64_t i) {
  return values == VaddValues::plain ? 1.0F : static_cast<float>(i % 1021) * 0.25F - 100.0F;
}
float second_at(VaddValues values, std::int64_t i) {
  return values == VaddValues::plain ? 2.0F : static_cast<float>(i % 977) * 0.5F - 7.0F;
}

}  // namespace

void add_vectors(int threads, std::int64_t n, const float* x, float* y) {
#pragma omp parallel for simd schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + y[i];
}

void fill_vectors(VaddValues values, std::int64_t n, float* x, float* y) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = first_at(values, i);
    y[i] = second_at(values, i);
  }
}

std::int64_t wrong_sums(VaddValues values, std::int64_t n, const float* sum) {
  std::int64_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (std::int64_t i = 0; i < n; ++i)
    wrong += !(sum[i] == first_at(values, i) + second_at(values, i));  // NaN is wrong, too
  return wrong;
}

}  // namespace headroom
