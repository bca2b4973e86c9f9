#pragma once

#include <vector>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/cudnn/folding.h"

namespace headroom {

// Pixels of few channels (the first layer's three) do not fill the vectors that tensor cores load. The same
// problem over copies of x and of the filters that do: "padded" with channels of nothing beside each pixel,
// or "folded", where all the pixels that a strided window steps over become the channels of one. Forward and
// for the gradient of the filters, where bits need not repeat.
struct FoldedConv2d {
  const char* name;
  Problem problem;  // between the copies
  cuda::Folding image, filters;

  bool is_weight_gradient() const { return problem.op == "conv2d_grad_weight"; }
  const TensorType& filter_type() const {
    return is_weight_gradient() ? problem.outputs[0] : problem.inputs[1];
  }
};
std::vector<FoldedConv2d> conv2d_folded(const Problem& problem, const Target& target);
// In the workspace: the image, the filters, then what the problem between them needs.
std::size_t folded_workspace(const FoldedConv2d& folded, const Target& target);
// In builds with the library's headers.
Launcher prepare_folded(const FoldedConv2d& folded, const LaunchContext& context);

}  // namespace headroom
