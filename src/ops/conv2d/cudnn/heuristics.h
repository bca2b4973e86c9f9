#pragma once

#include <memory>

#include "ops/conv2d/conv2d.h"

namespace headroom {

// What cuDNN's heuristics rank for a convolution of NHWC by its newer interface: far more kernels than the
// plain calls reach. Only those that sum products, fit the workspace and, where that is asked for, repeat to
// the bit.
class CudnnHeuristics {
 public:
  CudnnHeuristics(const Problem& problem, bool deterministic, std::size_t workspace);
  ~CudnnHeuristics();
  // The kernel of this rank, from 0, then `finish`. Null if there are fewer, or if this one cannot be made:
  // it wants more workspace than there is. Only this kernel is made, which takes the library milliseconds.
  Launcher launcher(std::size_t rank, const Launcher& finish);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace headroom
