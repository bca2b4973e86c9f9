#pragma once

#include "ops/product/cuda/rung_args.h"

namespace headroom::cuda {

void launch_threads_along_rows(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                               void* stream);
void launch_threads_along_columns(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                                  void* stream);
void launch_outputs_4x4(bool is_double, bool along_a, bool along_b, const products::RungArgs& args,
                        void* stream);

}  // namespace headroom::cuda
