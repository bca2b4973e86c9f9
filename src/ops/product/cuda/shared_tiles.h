#pragma once

#include "ops/product/cuda/rung_args.h"

namespace headroom::cuda {

void launch_shared_1d(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                      void* stream);
void launch_shared_2d(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                      void* stream);

}  // namespace headroom::cuda
