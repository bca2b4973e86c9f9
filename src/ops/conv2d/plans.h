#pragma once

// How convolutions are cut for the GPU, without one: what accepts, workspace and prepare must agree on.

#include <optional>
#include <string>
#include <vector>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/folding.h"
#include "ops/conv2d/sweep.h"
#include "ops/product/kernels.h"

namespace headroom {

cuda::Sweep sweep_of(const Problem& problem);  // for conv2d_grad_weight: of the forward product

// Null where the image, or a band of its rows, does not fit into shared memory beside the weights. `split`:
// exact fp32, in parts.
std::optional<cuda::ImagePlan> image_plan(const cuda::Sweep& sweep, bool split,
                                          const Capabilities& capabilities);
std::optional<cuda::ImagePlan> image_weight_plan(const cuda::Sweep& sweep, const Capabilities& capabilities);

// Null where the shape is not one for ordinary arithmetic; `why` then says so.
std::optional<cuda::FewPlan> few_plan(const cuda::Sweep& sweep, const Capabilities& capabilities,
                                      std::string& why);
std::optional<cuda::FewPlan> few_weight_plan(const cuda::Sweep& sweep, const Capabilities& capabilities,
                                             std::string& why);

// Shared memory of one block at the most; a multiprocessor has 1 KiB more, and keeps 1 KiB for each block.
int shared_bytes(const Capabilities& capabilities);
int processors(const Capabilities& capabilities);

// The product that a window over the whole input amounts to, and how it is done. The factors of the gradient
// of the weights are (dy, x).
Product product_of(const Problem& problem, const Capabilities& capabilities);
enum class ProductBy : std::uint8_t { fp16x3, cublaslt, tiles };
ProductBy product_by(const Product& product, const Capabilities& capabilities);

// The same problem with all its tensors in NCHW; and where such a kernel runs between copies of NHWC, for
// groups and dilated windows, the workspace of copies and kernel.
Problem conv2d_in_nchw(Problem problem);
bool may_be_turned(const Problem& problem);
std::size_t workspace_conv2d_turned(const Problem& problem, const Capabilities& capabilities);

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
std::vector<FoldedConv2d> conv2d_folded(const Problem& problem, const Capabilities& capabilities);
// In the workspace: the image, the filters, then what the problem between them needs.
std::size_t workspace_conv2d_folded(const FoldedConv2d& folded, const Capabilities& capabilities);
Launcher prepare_conv2d_cuda_folded(const FoldedConv2d& folded, const Capabilities& capabilities);

// Into how many pieces the sum over pixels (a gradient of weights) or over channels and taps is cut, so that
// there are blocks for every multiprocessor.
int direct_weight_pieces(const cuda::Sweep& sweep, const Capabilities& capabilities);
int implicit_pieces(const cuda::Sweep& sweep, const Capabilities& capabilities);
int implicit_weight_pieces(const cuda::Sweep& sweep, const Capabilities& capabilities);

}  // namespace headroom
