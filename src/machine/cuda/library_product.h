#pragma once

#include <memory>

#include "machine/cuda/loops.h"
#include "machine/cuda/stopwatch.h"

namespace headroom::cuda {

// A GEMM of two square random matrices by the vendor's library: on Hopper and later the only way here to
// reach the tensor units' peak.
class LibraryProduct {
 public:
  virtual ~LibraryProduct() = default;
  virtual void launch() = 0;
  virtual double flops() const = 0;
};

// The fastest of the library's suggestions; null without the library, or without memory for it.
std::unique_ptr<LibraryProduct> library_product(Unit unit, std::int64_t side, Stopwatch& watch);

}  // namespace headroom::cuda
