#pragma once

#include "ops/product/cuda/rung_args.h"

namespace headroom::products {

inline constexpr std::int64_t register_tile(DType dtype) { return dtype == DType::f64 ? 64 : 128; }

}  // namespace headroom::products

namespace headroom::cuda {

void launch_register_tiles(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                           void* stream);
void launch_async_tiles(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                        void* stream);

}  // namespace headroom::cuda
