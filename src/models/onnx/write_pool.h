#pragma once

#include "graph/graph.h"
#include "models/onnx/write_node.h"

namespace headroom::onnx {

// How a pool is written. Opsets before 22 count a last window that begins in the padding, so `ceil_mode` is
// avoided where padding at the end gives the same windows.
struct PoolForm {
  Ints pads;
  bool ceil_mode = false;
  std::int64_t opset = 1;  // the first with this form
};
PoolForm pool_form(const Problem& problem);  // of max_pool or avg_pool

void write_pool(NodeWriter& node);

}  // namespace headroom::onnx
