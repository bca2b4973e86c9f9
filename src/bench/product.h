#pragma once

#include <memory>

#include "train/engine.h"

namespace headroom {

// A square GEMM: the highest rate that a library or the engine reaches on this device.
class Product {
 public:
  virtual ~Product() = default;
  virtual void run() = 0;
  virtual std::int64_t size() const = 0;
  virtual int threads() const { return 0; }
  double flop() const { return 2.0 * double(size()) * double(size()) * double(size()); }
};

std::unique_ptr<Product> make_product(Device& device, const EngineOptions& options);

}  // namespace headroom
