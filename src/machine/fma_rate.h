#pragma once

#include <string>

#include "base/dtype.h"

namespace headroom {

struct FmaRate {
  double flops = 0;    // FLOP/s, a multiply-add counting two
  std::string vector;  // the instructions that reached it: "avx2"
};

// The most multiply-adds `threads` threads finish per second when nothing but arithmetic limits them: best of
// many short trials over about `seconds`, with every vector width the processor has.
FmaRate fma_rate(DType dtype, int threads, double seconds);

}  // namespace headroom
