#pragma once

// What the kernels by tiles of ops/cuda/gemm_tiles.h share. In builds with CUDA.

#include "ops/cuda/gemm_tiles.h"
#include "ops/kernel.h"

namespace headroom::products {

Launcher tiles_launcher(const Product& product, const TilePlan& plan, const cuda::TileKernel& kernel);

}  // namespace headroom::products
