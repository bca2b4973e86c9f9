#pragma once

// Products on Hopper's own path: a warp feeds the bulk copy engine, which brings tiles of both operands to
// shared memory some steps of k ahead; two warpgroups multiply them by warp-group instructions, which read
// both factors from there. Blocks are as many as multiprocessors and take tile after tile, so that the copies
// for the next tile are under way while the sums of this one are stored.
//
//   cuda:wgmma          bf16, fp16, and tf32 from fp32, whose factors the copy engine rounds on their way
//   cuda:fp16x3_wgmma   exact fp32, both factors in parts of fp16 (fp16_parts.h). The products of parts are
//   in
//                       one kernel: the sums of hi hi are short and added up by ordinary additions in
//                       registers, those of the small products have registers of their own. A factor of one
//                       part spares a product; two of them are as exact as tf32. Where there are few tiles,
//                       the blocks of a cluster share the sums of one, and add up by way of each other's
//                       memory.
//
// The code is for compute capability 9.0 and no other: these instructions are not carried over to later ones.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "ops/cuda/fp16_parts.h"
#include "ops/product/wgmma.h"

namespace headroom::cuda {

// What a launch needs beside the maps of its operands (tensor_map.h).
struct WgmmaArgs {
  const void* bias;  // null: none
  void* c;
  const PartsScale *scale_a, *scale_b;  // of factors in parts; else null
  std::int64_t m, n, ldc, stride_c;
  int steps;   // of k
  int splits;  // blocks that share the steps of a tile, as a cluster; factors in parts only
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
// `blocks` is a multiple of args.splits.
void launch_wgmma(const WgmmaKernel& kernel, const CUtensorMap& a, const CUtensorMap& b,
                  const WgmmaArgs& args, std::int64_t blocks, cudaStream_t stream);

}  // namespace headroom::cuda
