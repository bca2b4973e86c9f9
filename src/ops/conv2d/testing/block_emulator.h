#pragma once

// A launch of cuda:block_mma without a GPU: the kernel's plan and index arithmetic, its data flow lane by
// lane, and products by a tensor core in software, whose sums cut off instead of rounding.

#include <string>
#include <vector>

#include "ops/conv2d/cuda/block_plan.h"

namespace headroom::testing {

struct Emulation {
  std::vector<float> y;
  std::vector<int> writes;           // to each output
  std::vector<std::string> faults;   // reads of what nothing wrote, places outside their memory
  double loads = 0, wavefronts = 0;  // of fragments of the view, and what they take if no banks collide
};

Emulation emulate_block(const cuda::BlockShape& shape, const cuda::BlockPlan& plan, bool scaled,
                        const std::vector<float>& x, const std::vector<float>& w,
                        const std::vector<float>& bias);

}  // namespace headroom::testing
