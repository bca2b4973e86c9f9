#pragma once

#include <cstdint>

namespace headroom {

// y = exp(x - max of its row) for `rows` rows of `columns`, and each row's sum. What softmax and
// cross-entropy share. Rows are taken in blocks so that the exponential runs over one long stretch, however
// short the rows.
template <class T>
void exp_rows(std::int64_t rows, std::int64_t columns, const T* x, T* y, T* maxima, T* sums);

// Rows that exp_rows should be given at once: a block that stays in the first-level cache.
inline constexpr std::int64_t kMaxBlockRows = 128;
std::int64_t block_rows(std::int64_t columns);

}  // namespace headroom
