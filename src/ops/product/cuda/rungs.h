#pragma once

// What the rungs of `bench gemm` share: products on ordinary cores in fp32 and fp64, each kernel for one
// idea.

#include "ops/product/cuda/rung_args.h"
#include "ops/product/cuda/shared.h"

namespace headroom::products {

// fp32 and fp64.
Verdict accepts_rung(const Product& product, const Target& target);

// The minimum, and the bytes that the threads load from beyond their registers and shared memory.
Work rung_work(const Product& product, Work least, std::string_view family, double loaded_bytes,
               ProductExtent tile);
inline double multiply_adds(const Product& p) { return outputs_of(p) * double(p.k); }
double scaling_flops(const Product& product);
// What tiles load, each its rows of A and its columns of B, and C, with D where beta scales it.
double tile_bytes(const Product& product, std::int64_t tile_m, std::int64_t tile_n);

#ifdef HEADROOM_HAS_CUDA
// Launches once for each run of a product. `stream` is the runtime's handle.
using LaunchRung = void (*)(bool is_double, bool along_a, bool along_b, const RungArgs& args, void* stream);
Launcher prepare_rung(const Product& product, LaunchRung launch);
#endif

}  // namespace headroom::products
