#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "train/engine.h"

namespace headroom {

// C[m,n] = A[m,k] B[k,n].
struct ProductSize {
  std::int64_t m = 1, n = 1, k = 1;
};
// The products of the perceptron course's grading.
const std::vector<ProductSize>& course_products();

// One product, called as the course's first versions did: the caller's arrays are on the host, and each call
// allocates A, B and C on the device, copies, multiplies, copies back and frees. Or with buffers that stay.
struct ProductTiming {
  ProductSize size;
  bool fresh = true;
  Sampled total = {};
  Spread allocate = {}, copy_in = {}, kernel = {}, copy_out = {}, free = {};
};
// Times both, in turn, for every size; each result is checked against sums on the host first. A CPU's copies
// and allocations are memcpy and malloc.
std::vector<ProductTiming> bench_products(Device& device, const EngineOptions& options,
                                          const std::vector<ProductSize>& sizes,
                                          const std::function<void(const std::string&)>& progress);
// Rejects sizes that are not positive or do not fit. Allocates nothing.
void require_products(const Device& device, DType precision, const std::vector<ProductSize>& sizes);

inline constexpr int kStepsPerSample = 10;

// Where the time of a training step goes, in seconds per step.
struct StepTiming {
  std::string name;
  Sampled total = {};
  Spread copy_in = {}, copy_out = {}, kernel = {}, host = {};
};
// A training step through the host (batches in fresh buffers, weights to the host and back, the loss read
// every step), and one that stays on the device, in turn.
std::vector<StepTiming> bench_steps(Device& device, const EngineOptions& options, const Net& net,
                                    std::int64_t batch,
                                    const std::function<void(const std::string&)>& progress);

}  // namespace headroom
