#pragma once

// Matrix products as the GPU kernels of linear and matmul take them. Plain data, for device code too.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype_kind.h"
#include "ops/activation/kind.h"

namespace headroom {

// Products of matrices that lie at constant distances: of the first ones, and from each to the next, in
// elements.
struct ProductRun {
  std::int64_t count = 1;
  std::int64_t a = 0, b = 0, c = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
};

// C[m,n] = f(alpha op(A) op(B) + beta D[m,n] + bias[n]), row-major, once per element of every run. D lies as
// C does and is read only where beta is not 0.
struct Product {
  DType dtype = DType::f32;
  bool tf32 = false;  // fp32 factors may be rounded to 11 bits
  bool trans_a = false, trans_b = false;
  std::int64_t m = 1, n = 1, k = 1, lda = 1, ldb = 1, ldc = 1;
  bool bias = false;
  Activation finish = Activation::none;
  double alpha = 1, beta = 0;
  std::vector<ProductRun> runs = {ProductRun{}};

  std::int64_t most_at_once() const;  // the longest run
  bool scaled() const { return alpha != 1 || beta != 0; }
};

// Lists of offsets as few runs; the matrices of c follow one another.
std::vector<ProductRun> runs_of(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                                std::int64_t c_elements);

// How "cuda:tiles" cuts a product: square tiles of the output, and the sum over k in pieces that are added up
// afterwards where there would be too few tiles for the device.
struct TilePlan {
  int tile = 64;
  int splits = 1;
  std::int64_t k_per_split = 0;
  std::size_t workspace = 0;
};
TilePlan plan_tiles(const Product& product, int multiprocessors);
TilePlan plan_fp64_tiles(const Product& product, int multiprocessors);  // of "cuda:fp64_tiles"

// How "cuda:fp16x3" goes about it (ops/cuda/gemm_fp16x3.h): sides filled up to multiples of 8, the sum over k
// cut into pieces of one length, which is filled up too, and the output in bands of rows. Offsets in bytes.
struct Fp16x3Plan {
  std::int64_t m = 8, n = 8, k = 8;
  std::int64_t pieces = 1, piece = 8;  // k in all
  std::int64_t band = 8, bands = 1;    // all but the last of `band` rows
  std::size_t a = 0, b = 0, slabs = 0, library = 0, workspace = 0;
  std::int64_t library_bytes = 0;
};
Fp16x3Plan plan_fp16x3(const Product& product);

// How "cuda:skinny" goes over the large operand. `rows` are along the longer side of the output.
struct SkinnyPlan {
  bool wide_output = false;  // the short side is m: C is transposed to what the kernel thinks
  std::int64_t rows = 1, columns = 1;
  bool along = true;      // the large operand is contiguous along k
  int warps_along_k = 1;  // of the 8 of a block, where it is
  int splits = 1;         // over blocks, added up afterwards
  std::int64_t k_per_split = 0;
  std::size_t workspace = 0;
};
SkinnyPlan plan_skinny(const Product& product, int multiprocessors);
inline constexpr std::int64_t kMaxSkinny = 16;

// How "cuda:thin" does. A block has 8 warps of some rows each, and blocks of a cluster share k; or, with few
// and short rows, a block has `rows` and its warps share k.
struct ThinPlan {
  bool wide_output = false;
  bool warps_share_k = false;
  int rows = 1;  // of a warp, or of a block whose warps share k
  int splits = 1;
  std::int64_t k_per_split = 0, blocks = 1;
};
ThinPlan plan_thin(const Product& product, int multiprocessors);
inline constexpr int kThinBlockWarps = 8;

// How "cuda:slices" does: tiles of 32 x 32, whose warps share k.
struct SlicePlan {
  std::int64_t blocks = 1;
  int warps = 1;
  std::int64_t k_per_warp = 16;  // a multiple of 16
};
SlicePlan plan_slices(const Product& product);
inline constexpr int kSliceTile = 32, kMaxSliceWarps = 8;

// How "cuda:clusters" does: tiles of 64 x 64, whose blocks share k.
struct ClusterPlan {
  std::int64_t tiles = 1;
  int blocks = 1;                 // of a cluster
  std::int64_t k_per_block = 32;  // a multiple of kClusterDepth
  int stages = 1;                 // steps of kClusterDepth that are asked for at once
  double us = 0;                  // it should take on an H200
};
ClusterPlan plan_clusters(const Product& product, int multiprocessors);
inline constexpr int kClusterTile = 64, kClusterDepth = 32, kMaxCluster = 8, kMaxClusterStages = 12;

}  // namespace headroom
