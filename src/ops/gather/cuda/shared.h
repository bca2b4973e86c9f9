#pragma once

#include "ops/gather/cuda/shape.h"
#include "ops/gather/gather.h"

namespace headroom {

inline cuda::GatherShape gather_shape(const Problem& p) {
  const GatherSizes g = gather_sizes(p);
  return {.outer = g.outer,
          .extent = g.extent,
          .inner = g.inner,
          .count = g.count,
          .wide_indices = p.inputs[1].dtype == DType::i64};
}

}  // namespace headroom
