#pragma once

// Products on Hopper's own path: a warp feeds the bulk copy engine, which brings tiles of both operands to
// shared memory some steps of k ahead; two warpgroups multiply them by warp-group instructions, which read
// both factors from there. Blocks are as many as multiprocessors and take tile after tile, so that the copies
// for the next tile are under way while the sums of this one are stored.
//
//   cuda:wgmma          bf16, fp16, and tf32 from fp32, whose factors the copy engine rounds on their way
//   cuda:fp16x3_wgmma   exact fp32, both factors in two parts of fp16 as in gemm_fp16x3.h. The three products
//                       are in one kernel: the sums of hi hi are short and added up by ordinary additions in
//                       registers, those of the small products have registers of their own.
//
// The code is for compute capability 9.0 and no other: these instructions are not carried over to later ones.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "ops/product/wgmma.h"

namespace headroom::cuda {

// What a launch needs beside the maps of its operands (tensor_map.h).
struct WgmmaArgs {
  const void* bias;  // null: none
  void* c;
  const unsigned* largest;  // fp16x3: of each factor, for its scale; else null
  std::int64_t m, n, ldc, stride_c;
  std::int64_t k_of_parts;  // fp16x3: from the hi part of a copy to its lo part, along k
  int steps;                // of k
  unsigned batch;
  bool many_a, many_b;  // the matrices of a batch differ
  bool whole_c;         // 16-byte accesses are allowed
  Activation finish;
  TileOrder order;
};

struct WgmmaKernel {
  void (*function)(CUtensorMap, CUtensorMap, WgmmaArgs);
  int shared_bytes;
};

// `across`: not contiguous along k. Each type in a file of its own, for the sake of the time it takes to
// compile them.
WgmmaKernel half_wgmma(int tile_n, bool across_a, bool across_b);
WgmmaKernel brain_wgmma(int tile_n, bool across_a, bool across_b);
WgmmaKernel tf32_wgmma(int tile_n);
WgmmaKernel fp16x3_wgmma(bool across_a, bool across_b);

void allow_shared(const WgmmaKernel& kernel);  // once, before the first launch on a device
void launch_wgmma(const WgmmaKernel& kernel, const CUtensorMap& a, const CUtensorMap& b,
                  const WgmmaArgs& args, std::int64_t blocks, cudaStream_t stream);

}  // namespace headroom::cuda
