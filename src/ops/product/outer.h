#pragma once

// "cuda:outer": products whose sums are short, which are bound by writing the output. The gradient of a last
// layer's input is one, [batch, 10] by [10, hidden]: tiles of tensor cores would be mostly empty.

#include "ops/kernel.h"
#include "ops/product/product.h"

namespace headroom {

inline constexpr std::int64_t kMaxOuter = 16;  // terms of a sum

Verdict accepts_outer(const Product& product, const Target& target);
Work outer_work(const Product& product, const Target& target, Work least);

// src/ops/cuda/outer.cc. The launchers take a, b and the bias, where there is one. With a slope they take, as
// third input, the output y of that activation, of the shape of c: each sum is multiplied by f'.
Launcher prepare_product_outer(const Product& product, const LaunchContext& context);
Launcher prepare_product_outer_slope(const Product& product, Activation slope);

}  // namespace headroom
