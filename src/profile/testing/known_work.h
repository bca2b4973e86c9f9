#pragma once

#include "device/device.h"

namespace headroom::testing {

// Queues y += a x over `count` elements, a multiple of 1024, one for each thread: per warp two loads, one
// store and 32 multiply-adds.
void axpy(Stream& stream, std::int64_t count, float a, const float* x, float* y);

// Queues `blocks` of 256 threads, of which the first `lanes` in each warp do 64 multiply-adds.
void fma_in_lanes(Stream& stream, int blocks, int lanes, float* out);
inline constexpr int kFmasPerLane = 64;

}  // namespace headroom::testing
