#pragma once

// The inner loops of the measurement of a GPU. Plain data, for C++ and CUDA sources alike.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace headroom::cuda {

enum class Unit { fp64, fp64_tensor, fp32, tf32, fp16, bf16 };

// Multiply-adds in registers and nothing else, `rounds` times on every multiprocessor. Returns the FLOPs that
// were queued. The tensor units are driven by mma.sync, which on Hopper reaches some 60 % of what wgmma does.
double launch_rate_loop(Unit unit, int multiprocessors, int rounds, void* sink, cudaStream_t stream);

enum class Traffic { read, write, copy };

// Walks over `bytes` (a multiple of 16) of `to` or `from`, or of both for a copy, `passes` times, past L1.
void launch_traffic(Traffic kind, void* to, const void* from, std::int64_t bytes, int passes,
                    int multiprocessors, cudaStream_t stream);

void launch_empty(cudaStream_t stream);

// Values between -1 and 1, as the unit's products read them: how much power a product takes depends on them.
void fill_random(Unit unit, void* data, std::int64_t elements, unsigned seed, cudaStream_t stream);

}  // namespace headroom::cuda
