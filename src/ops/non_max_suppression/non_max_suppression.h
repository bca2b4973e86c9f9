#pragma once

#include "ops/operator.h"

namespace headroom {

// non_max_suppression(boxes [N, B, 4], scores [N, C, B], most, overlap, score; bound, center_point_box = 0):
// for each image and class, goes through the boxes from the highest score down (of equal scores the first box
// first) and picks those that overlap none of the boxes picked before by more than `overlap` (intersection
// over union). It stops after `most` boxes, and leaves out boxes whose score is not above `score`; minus
// infinity leaves out none. Boxes are y1, x1, y2, x2 of any two opposite corners, or with center_point_box x,
// y, width, height. Boxes without an area overlap nothing. `most` is an int64, `overlap` and `score` are
// floats, one element each. The results are rows of image, class and box, int64, [N C bound, 3], and how many
// rows there are (int64, no axes); the rows behind them are 0. `bound` limits the boxes of one image and
// class. No gradient.
std::vector<Operator> non_max_suppression_operators();

struct NmsSizes {
  std::int64_t images = 1, classes = 1, boxes = 1, bound = 1;
  bool center = false;
  std::int64_t lists() const { return images * classes; }
};
NmsSizes nms_sizes(const Problem& problem);

Launcher prepare_non_max_suppression_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
