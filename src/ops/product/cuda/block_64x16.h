#pragma once

#include "ops/product/cuda/rung_args.h"

namespace headroom::cuda {

void launch_block_64x16(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                        void* stream);

}  // namespace headroom::cuda
