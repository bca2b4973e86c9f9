#pragma once

#include <cstdint>

namespace headroom {

// y[rows, out] = x[rows, in] w[out, in]^T for few rows: then the weights are most of what moves, and each is
// read from memory once, where it lies. A matrix library copies them first. The bits do not depend on the
// number of threads.
inline constexpr std::int64_t kMaxFewRows = 32;
template <class T>
void few_rows(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* w, T* y);

}  // namespace headroom
