#pragma once

#include <string>

#include "base/dtype.h"

namespace headroom {

struct FmaRate {
  double flops = 0;    // FLOP/s; a multiply-add counts as two
  std::string vector;  // the instructions with the best rate: "avx2"
};

// The max rate of multiply-adds on `threads` threads, limited only by arithmetic: the best of many short
// trials in about `seconds`, with every vector width of the processor.
FmaRate fma_rate(DType dtype, int threads, double seconds);
// The same for products of bf16 with sums in fp32; 0 on a processor without such instructions.
FmaRate bf16_rate(int threads, double seconds);
// The same for dot products of bytes; 0 on a processor without such instructions.
FmaRate int8_rate(int threads, double seconds);

}  // namespace headroom
