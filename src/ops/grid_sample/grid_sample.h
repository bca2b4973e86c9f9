#pragma once

#include "ops/operator.h"

namespace headroom {

// grid_sample(x [N, C, H, W], grid [N, h, w, 2]; mode = "linear", padding = "zeros", align_corners = 0): x at
// the points of the grid, [N, C, h, w]. A point is x, y, each from -1 to 1: from the first pixel's outer edge
// to the last one's, or with align_corners from centre to centre. With three axes x is [N, C, D, H, W] and a
// point x, y, z. mode: the "nearest" pixel (halves to the even one), "linear" between those around it, or
// "cubic" with -0.75 (two axes only). padding, outside of the image: "zeros", the "border" pixels, or a
// "reflection" at the edges. No gradient.
std::vector<Operator> grid_sample_operators();

Launcher prepare_grid_sample_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
