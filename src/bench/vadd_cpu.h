#pragma once

#include <cstdint>

namespace headroom {

// The loops of the vector addition on a CPU.

void add_vectors(int threads, std::int64_t n, const float* x, float* y);  // y = x + y

// What the vectors hold. Every sum is exact in fp32, so that a result is right or wrong.
enum class VaddValues {
  plain,  // 1 and 2: the sum is 3 everywhere
  varied  // other values at neighbouring places: a sum at a wrong place shows
};
void fill_vectors(VaddValues values, std::int64_t n, float* x, float* y);
// How many elements of `sum` are not the sum of what fill_vectors wrote.
std::int64_t wrong_sums(VaddValues values, std::int64_t n, const float* sum);

}  // namespace headroom
