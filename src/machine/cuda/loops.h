#pragma once

// The inner loops of the GPU measurement. Plain data, for both C++ and CUDA sources.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace headroom::cuda {

enum class Unit { fp64, fp64_tensor, fp32, tf32, fp16, bf16 };

// Only multiply-adds in registers, `rounds` times on every multiprocessor. Returns the FLOPs queued. mma.sync
// drives the tensor units; on Hopper it reaches about 60 % of wgmma.
double launch_rate_loop(Unit unit, int multiprocessors, int rounds, void* sink, cudaStream_t stream);

enum class Traffic { read, write, copy };

// Streams over `bytes` (a multiple of 16) of `to`, `from`, or both (copy), `passes` times, bypassing L1.
void launch_traffic(Traffic kind, void* to, const void* from, std::int64_t bytes, int passes,
                    int multiprocessors, cudaStream_t stream);

void launch_empty(cudaStream_t stream);

// Values between -1 and 1 in the unit's input format: the power of a product depends on them.
void fill_random(Unit unit, void* data, std::int64_t elements, unsigned seed, cudaStream_t stream);

}  // namespace headroom::cuda
