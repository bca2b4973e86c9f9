#pragma once

// How convolutions are cut for the GPU, without one: what accepts, workspace and prepare must agree on.

#include <optional>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/sweep.h"
#include "ops/product_kernels.h"

namespace headroom {

cuda::Sweep sweep_of(const Problem& problem);  // for conv2d_grad_weight: of the forward product

// Null where the image, or a band of its rows, does not fit into shared memory beside the weights.
std::optional<cuda::ImagePlan> image_plan(const cuda::Sweep& sweep, const Capabilities& capabilities);
std::optional<cuda::ImagePlan> image_weight_plan(const cuda::Sweep& sweep, const Capabilities& capabilities);

// The product that a window over the whole input amounts to, and whether our own tiles do it or the library.
// The factors of the gradient of the weights are (dy, x).
Product product_of(const Problem& problem, const Capabilities& capabilities);
bool as_tiles(const Product& product, const Capabilities& capabilities);

// Into how many pieces the sum over pixels (a gradient of weights) or over channels and taps is cut, so that
// there are blocks for every multiprocessor.
int direct_weight_pieces(const cuda::Sweep& sweep, const Capabilities& capabilities);
int implicit_pieces(const cuda::Sweep& sweep, const Capabilities& capabilities);
int implicit_weight_pieces(const cuda::Sweep& sweep, const Capabilities& capabilities);

}  // namespace headroom
