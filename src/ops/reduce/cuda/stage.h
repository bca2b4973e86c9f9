#pragma once

#include <cstdint>

namespace headroom::cuda {

// One launch on the device: [outer, length, inner] to [outer, parts, inner], each part of the middle joined.
// Plain data; made by stages_of (stage_plan.h) from the shape alone, so that the order of every sum is too.
struct ReduceStage {
  enum class Way {
    short_rows,  // inner is 1: eight threads to a row, a warp, or a block
    rows,
    long_rows,
    narrow,  // inner is small: threads step by a multiple of it through whole rows
    tiles,   // threads side by side in inner
    serial   // a thread for each result
  };
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t parts = 1;
  Way way = Way::rows;
  std::int64_t results() const { return outer * parts * inner; }
};

}  // namespace headroom::cuda
