#pragma once

#include "bench/convolution_kinds.h"
#include "cli/bench_output.h"
#include "cli/child_process.h"

namespace headroom::cli {

// The two kinds of convolutions, as --kernel names them, in the order of all lists below.
inline constexpr const char* kConvolutionKinds[] = {"library", "own"};

struct ComparedSize {
  std::int64_t images = 0, batch = 0;
  std::vector<EndedProcess> programs;   // plain evaluations, by kind
  std::vector<ConvolutionPass> passes;  // by kind
};

struct ComparedKernels {
  std::string model, data, device, precision;
  int threads = 0;  // of a CPU
  std::vector<ComparedSize> sizes;
};

BenchOutput compared_output(const ComparedKernels& compared);

}  // namespace headroom::cli
