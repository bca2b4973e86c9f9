#pragma once

// What the persistent kernels of a layer and of its gradient share without a device.

#include "ops/product/cuda/shared.h"
#include "ops/recurrent/cuda/persistent_plan.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {

cuda::PersistentPlan persistent_forward_plan(const RecurrentProblem& problem, const Target& target);
cuda::PersistentPlan persistent_backward_plan(const RecurrentProblem& problem, const Target& target);

// `plan`: one of the two above.
Verdict accepts_persistent(const Problem& problem, const Target& target, const cuda::PersistentPlan& plan);

// Sections of a workspace, each beginning at a multiple of 256 bytes.
class Sections {
 public:
  std::size_t place(std::int64_t bytes) {
    const std::size_t here = end_;
    end_ += (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    return here;
  }
  // For cuBLASLt, whose products have at most `outputs` results.
  std::size_t place_library(std::int64_t outputs) {
    return place(
        static_cast<std::int64_t>(products::library_workspace(static_cast<std::size_t>(4 * outputs))));
  }
  std::size_t end() const { return end_; }

 private:
  std::size_t end_ = 0;
};

// A matrix product beside the main launch, by cuBLASLt; `count` of them in one launch.
void add_library_product(Work& work, ProductExtent extent, std::int64_t count, bool tf32);

}  // namespace headroom
