#include "ops/softmax/cpu/exp_rows.h"

#include <algorithm>
#include <limits>

#include "ops/cpu/reduce.h"
#include "ops/cpu/vmath.h"

namespace headroom {

std::int64_t block_rows(std::int64_t columns) {
  return std::clamp<std::int64_t>(2048 / columns, 1, kMaxBlockRows);
}

template <class T>
void exp_rows(std::int64_t rows, std::int64_t columns, const T* x, T* y, T* maxima, T* sums) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * columns;
    T* to = y + r * columns;
    T most = -std::numeric_limits<T>::infinity();  // a NaN is left to the subtraction, which keeps it
#pragma omp simd reduction(max : most)
    for (std::int64_t c = 0; c < columns; ++c) most = from[c] > most ? from[c] : most;
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) to[c] = from[c] - most;
    maxima[r] = most;
  }
  simd::map(rows * columns, y, y, [](simd::Vec<T> v) { return simd::exp<T>(v); });
  for (std::int64_t r = 0; r < rows; ++r) sums[r] = simd::sum(columns, y + r * columns);
}

template void exp_rows(std::int64_t, std::int64_t, const float*, float*, float*, float*);
template void exp_rows(std::int64_t, std::int64_t, const double*, double*, double*, double*);

}  // namespace headroom
