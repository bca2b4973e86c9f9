#pragma once

namespace headroom::cuda {

// Adds one step of `count` images to sums whose fields are those of tally.h. By one thread.
__device__ inline void add_to_tally(double loss, double correct, double count, double* sums) {
  sums[0] += loss * count;
  sums[1] += correct;
  sums[2] += 1;
  if (sums[2] == 1) sums[3] = loss;
  sums[4] = loss;
  if (!isfinite(loss) && sums[5] == 0) sums[5] = sums[2], sums[6] = loss;
}

}  // namespace headroom::cuda
