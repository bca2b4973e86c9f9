#pragma once

#include "ops/operator.h"

namespace headroom {

// roi_align(x [N, C, H, W], regions [R, 4], images [R]; output = [h, w], sampling_ratio = 0, spatial_scale =
// 1, mode = "avg", half_pixel = 1): for each region x1, y1, x2, y2 of an image, h by w values of every
// channel. A region is scaled and cut in h by w bins; each takes sampling_ratio^2 points on a grid (0: as
// many as pixels fit), whose values are weighted means of the four pixels around them. "avg" is their mean.
// "max" is the largest of all weighted pixels, as ONNX and ONNX Runtime have it. Points more than a pixel
// outside of the image are 0. half_pixel: pixels are areas, so that coordinates move by half a pixel; without
// it, regions are at least one pixel wide. Images are int32 or int64; one that does not exist stops the run,
// and on a GPU gives NaN. [R, C, h, w]; no gradient.
std::vector<Operator> roi_align_operators();

Launcher prepare_roi_align_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
