#pragma once

// Blocks of pixels as the channels of one: where the elements of such a copy come from, for C++ and CUDA
// alike.

#include <cstdint>

#include "base/host_device.h"

namespace headroom::cuda {

// Images of NHWC (or filters) cut into blocks. A row of a block is a run of memory, so that columns and
// channels are counted together, as elements of a row. Copies are of at most 1 GiB: their vectors are counted
// in 32 bits.
struct Folding {
  int height, row;                       // of an image: rows, and elements of each
  int block, run;                        // of a block: likewise
  int top, left;                         // rows and elements by which the first block begins before the image
  int images, folded_h, folded_w, wide;  // of the copy; wide: elements of a block, up to whole vectors

  constexpr unsigned vectors(int elements) const {
    return static_cast<unsigned>(images) * static_cast<unsigned>(folded_h) * static_cast<unsigned>(folded_w) *
           static_cast<unsigned>(wide / elements);
  }
};

// Goes over the elements of the copy from the first of a vector on.
struct FoldedPlace {
  int height, row, block, run;
  std::int64_t first_row;  // of the image, among the rows of all images
  int top, left;           // of the block, in the image
  int down, along;         // in the block

  HEADROOM_HOST_DEVICE constexpr FoldedPlace(const Folding& f, unsigned vector, int elements)
      : height(f.height), row(f.row), block(f.block), run(f.run) {
    const auto across = static_cast<unsigned>(f.wide / elements), w = static_cast<unsigned>(f.folded_w),
               h = static_cast<unsigned>(f.folded_h);
    const unsigned pixel = vector / across, line = pixel / w, image = line / h;
    first_row = std::int64_t{image} * f.height;
    top = static_cast<int>(line - image * h) * f.block - f.top;
    left = static_cast<int>(pixel - line * w) * f.run - f.left;
    const int element = static_cast<int>(vector - pixel * across) * elements;
    down = element / f.run;
    along = element - down * f.run;
  }

  // In the images; -1 outside, where the copy is zero.
  HEADROOM_HOST_DEVICE constexpr std::int64_t source() const {
    const int y = top + down, x = left + along;
    const bool inside = down < block && y >= 0 && y < height && x >= 0 && x < row;
    return inside ? (first_row + y) * row + x : -1;
  }

  HEADROOM_HOST_DEVICE constexpr void next() {
    if (++along == run) along = 0, ++down;
  }
};

}  // namespace headroom::cuda
