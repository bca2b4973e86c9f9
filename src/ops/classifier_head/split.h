#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace headroom {

// How a GPU cuts the rows of a classifier's head: a block for each multiprocessor, whose sums a second launch
// adds up. The bits of the sums follow from the shape and the number of multiprocessors.
struct HeadSplit {
  static constexpr std::int64_t kMaxClasses = 16, kMaxInputs = 1024;
  // The weights lie in the shared memory that every GPU grants without being asked: 48 KiB, less what the
  // kernel keeps beside them.
  static constexpr std::size_t kMaxShared = 44 * 1024;
  static constexpr std::int64_t kLeastRows = 8;  // fewer are not worth a block's sums
  static constexpr std::int64_t kThreads = 512;  // of a block at the most

  std::int64_t blocks = 1, rows_per_block = 1;
  std::int64_t stretches = 1;  // of columns, a block to each
  std::int64_t columns = 32;   // threads side by side in a row: whole warps
  std::int64_t groups = 1;     // rows at a time
  std::int64_t sums = 0;       // that a block leaves: of dw, dh_bias, dbias

  // Kernels are written for so many classes.
  static constexpr std::int64_t padded(std::int64_t classes) {
    return classes <= 4 ? 4 : classes <= 10 ? 10 : 16;
  }
  // A gap follows the classes of every four inputs. In the end there must be room for a number of each
  // thread.
  static constexpr std::size_t shared_bytes(std::int64_t inputs, std::int64_t classes) {
    return static_cast<std::size_t>(std::max((inputs + 3) / 4 * 4 * (padded(classes) + 1), kThreads)) *
           sizeof(float);
  }
  static constexpr bool fits(std::int64_t inputs, std::int64_t classes) {
    return classes <= kMaxClasses && inputs <= kMaxInputs && shared_bytes(inputs, classes) <= kMaxShared;
  }
  // A loss and a count from each block, then the sums.
  std::size_t workspace() const {
    return static_cast<std::size_t>(blocks) *
           (2 * sizeof(double) + static_cast<std::size_t>(sums) * sizeof(float));
  }
};

inline HeadSplit head_split(std::int64_t rows, std::int64_t inputs, std::int64_t classes,
                            std::int64_t multiprocessors) {
  HeadSplit s;
  s.stretches = (inputs + HeadSplit::kThreads - 1) / HeadSplit::kThreads;
  s.columns = ((inputs + s.stretches - 1) / s.stretches + 31) / 32 * 32;
  s.groups = HeadSplit::kThreads / s.columns;
  const std::int64_t most = std::max<std::int64_t>(multiprocessors / s.stretches, 1);
  s.rows_per_block = std::max((rows + most - 1) / most, std::min(rows, HeadSplit::kLeastRows));
  s.blocks = (rows + s.rows_per_block - 1) / s.rows_per_block;
  s.sums = classes * inputs + inputs + classes;
  return s;
}

}  // namespace headroom
