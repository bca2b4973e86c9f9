#pragma once

#include <memory>

#include "machine/cuda/loops.h"
#include "machine/cuda/stopwatch.h"

namespace headroom::cuda {

// The product of two square matrices of random values by the vendor's library: on Hopper and later the only
// way here to what the tensor units reach.
class LibraryProduct {
 public:
  virtual ~LibraryProduct() = default;
  virtual void launch() = 0;
  virtual double flops() const = 0;
};

// The fastest of the library's own suggestions; null where there is no library, or no memory for it.
std::unique_ptr<LibraryProduct> library_product(Unit unit, std::int64_t side, Stopwatch& watch);

}  // namespace headroom::cuda
