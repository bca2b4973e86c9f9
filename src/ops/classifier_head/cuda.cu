// Two launches. In the first a block takes a stretch of rows, a tile at a time: first a warp takes two rows
// at once against the weights in shared memory, so that each weight read there serves both, and leaves their
// d; then a thread takes a column, whose weights and sums stay in its registers, and walks down the tile. The
// second launch adds up what the blocks left. At 3000 x 512 and 10 classes: 12 MB through the L2, 1900 cycles
// of shared memory in the first half and 3000 cycles of issue in the second.
#include "ops/classifier_head/cuda.h"

#include "ops/classifier_head/rows.cuh"
#include "ops/cuda/fp16_parts.cuh"
#include "ops/cuda/labels.cuh"

namespace headroom::cuda {
namespace {

constexpr int kTile = 32;  // rows
constexpr int kMaxThreads = static_cast<int>(HeadSplit::kThreads);

struct Block {
  std::int64_t rows_per_block;
  int columns, groups;
  bool whole;  // rows of h can be read four elements at a time
};

// What blocks leave for the second launch.
struct Parts {
  double* losses;
  double* correct;
  float* sums;  // [blocks, dw | dh_bias | dbias]
};

// The weights to shared memory, 0 past the last input and class; what is loaded at once waits once. Returns
// the largest that this thread saw.
template <int kC>
__device__ float fill(float* weights, int classes, int inputs, const float* w) {
  float largest = 0;
  for (int k = threadIdx.x; k < (inputs + 3) / 4 * 4; k += blockDim.x) {
    float column[kC];
#pragma unroll
    for (int c = 0; c < kC; ++c) column[c] = c < classes && k < inputs ? w[c * inputs + k] : 0;
#pragma unroll
    for (int c = 0; c < kC; ++c) {
      weights[place_of<kC>(c, k)] = column[c];
      largest = fmaxf(largest, fabsf(column[c]));
    }
  }
  return largest;
}

// Where dz goes: one element as it is, or its parts.
struct Gradients {
  void* to;
  std::int64_t ld, second;  // of rows, and to the second part
  int parts;
  float factor;
  __device__ void store(std::int64_t row, int column, float dz) const {
    if (parts == 0) {
      static_cast<float*>(to)[row * ld + column] = dz;
      return;
    }
    const Halves halves = halves_of(dz, factor, 1);
    Half* const at = static_cast<Half*>(to) + row * ld + column;
    *at = halves.hi;
    if (parts == 2) at[second] = halves.lo;
  }
};

// kC: classes, or a little more than there are. Blocks side by side in y have the same rows, and a stretch of
// columns each.
template <int kC>
__global__ void __launch_bounds__(kMaxThreads) head(HeadShape s, Block block, HeadPointers at, Parts parts) {
  constexpr int kStride = (kC + 3) / 4 * 4;
  extern __shared__ __align__(16) float weights[];  // by place_of
  __shared__ __align__(16) float slopes[kTile][kStride];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  const int threads = static_cast<int>(blockDim.x), warps = threads / 32;
  const int inputs = static_cast<int>(s.inputs), classes = static_cast<int>(s.classes);
  const std::int64_t begin = blockIdx.x * block.rows_per_block,
                     end = min(s.rows, begin + block.rows_per_block);
  const Labels labels{at.labels, s.wide_labels};
  const float scale = 1.0f / static_cast<float>(s.rows);
  const float bias = lane % 16 < classes ? at.bias[lane % 16] : 0;
  // The first rows are under way while the weights come.
  RowPair<kC> pair;
  auto load = [&](std::int64_t row) {
    if (row >= end) return;
    const float* first = at.h + row * inputs;
    pair.load(first, row + 1 < end ? first + inputs : first, 0, inputs, block.whole, lane);
  };
  load(begin + 2 * warp);
  const float largest = warp_max(fill<kC>(weights, classes, inputs, at.w), 32);
  float* const gathered_largest = &slopes[0][0];  // which nobody has filled yet
  if (lane == 0) gathered_largest[warp] = largest;
  __syncthreads();
  Gradients gradients{at.dz, s.ld, s.rows * s.ld, s.parts, 1};
  if (s.parts > 0) {
    float most = 0;
    for (int i = 0; i < warps; ++i) most = fmaxf(most, gathered_largest[i]);
    const PartsScale parts_scale = scale_of(__float_as_uint(2 * most * scale), 1, s.parts);
    gradients.factor = 1 / parts_scale.power;
    if (blockIdx.x + blockIdx.y + threadIdx.x == 0) *at.dz_scale = parts_scale;
  }
  __syncthreads();

  const int group = tid / block.columns, place = tid % block.columns;
  const int column = static_cast<int>(blockIdx.y) * block.columns + place;
  float dw[kC] = {}, dh_bias = 0, dbias = 0;
  double loss = 0;
  int correct = 0;
  for (std::int64_t tile = begin; tile < end; tile += kTile) {
    const int rows = static_cast<int>(min(std::int64_t{kTile}, end - tile));
    const float* h = at.h + tile * inputs;
    for (int r = 2 * warp; r < rows; r += 2 * warps) {
      const float* first = h + r * inputs;
      const int own = r + lane / 16;  // the row of this half of the warp
      const bool there = own < rows;
      const std::int64_t label = there ? labels[tile + own] : 0;
      if (tile + r != begin + 2 * warp) load(tile + r);
      const float score = bias + scores<kC>(pair, first, r + 1 < rows ? first + inputs : first, weights,
                                            inputs, block.whole, lane);
      const RowSlope row = row_slope(score, classes, label, scale, lane);
      if (there) {
        if (lane % 16 < kStride) slopes[own][lane % 16] = row.d;
        dbias += row.d;
        if (lane % 16 == 0) loss += row.loss, correct += row.correct;
      }
    }
    __syncthreads();
    if (column < s.ld) {
      const float* from = h + column;
      const bool real = column < inputs;
      float w[kC];
#pragma unroll
      for (int c = 0; c < kC; ++c) w[c] = real ? weights[place_of<kC>(c, column)] : 0;
#pragma unroll 4
      for (int r = group; r < rows; r += block.groups) {
        const float y = real ? __ldg(from + r * inputs) : 0;  // past the stores of dz, which is elsewhere
        float d[kStride];
#pragma unroll
        for (int c = 0; c < kStride; c += 4)
          *reinterpret_cast<float4*>(d + c) = *reinterpret_cast<const float4*>(&slopes[r][c]);
        float dz = 0;
#pragma unroll
        for (int c = 0; c < kC; ++c) {
          dz = fmaf(d[c], w[c], dz);
          dw[c] = fmaf(d[c], y, dw[c]);
        }
        dz *= slope(s.slope, y);
        gradients.store(tile + r, column, dz);
        dh_bias += dz;
      }
    }
    __syncthreads();
  }

  float* gathered = weights;  // which nobody reads any more
  float* out = parts.sums + blockIdx.x * (s.inputs * classes + inputs + classes);
#pragma unroll
  for (int c = 0; c <= kC; ++c) {
    float sum = c < kC ? dw[c < kC ? c : 0] : dh_bias;
    if (block.groups > 1) {
      gathered[tid] = sum;
      __syncthreads();
      if (group == 0)
        for (int g = 1; g < block.groups; ++g) sum += gathered[g * block.columns + place];
      __syncthreads();
    }
    if (group == 0 && column < inputs && (c < classes || c == kC))
      out[(c == kC ? classes : c) * inputs + column] = sum;
  }
  if (blockIdx.y != 0) return;
  dbias += __shfl_xor_sync(~0u, dbias, 16);
  gathered[tid] = dbias;
  loss = block_sum(loss);
  correct = block_sum(correct);
  if (tid < classes) {
    float sum = 0;
    for (int k = 0; k < warps; ++k) sum += gathered[k * 32 + tid];
    out[(classes + 1) * inputs + tid] = sum;
  }
  if (tid == 0) parts.losses[blockIdx.x] = loss, parts.correct[blockIdx.x] = correct;
}

// A block for 32 sums, whose warps share the blocks of the first launch; one more for loss and count.
__global__ void __launch_bounds__(256)
    finish(HeadShape s, int blocks, std::int64_t sums, Parts parts, HeadPointers to) {
  if (blockIdx.x == gridDim.x - 1) {
    const double loss = block_total(parts.losses, blocks), correct = block_total(parts.correct, blocks);
    if (threadIdx.x != 0) return;
    *to.loss = static_cast<float>(loss / static_cast<double>(s.rows));
    *to.correct = static_cast<float>(correct);
    return;
  }
  const std::int64_t first = std::int64_t{blockIdx.x} * 32, i = first + threadIdx.x,
                     weights = s.inputs * s.classes;
  const float sum = sum_of_blocks(parts.sums, blocks, sums, first);
  if (threadIdx.x >= 32 || i >= sums) return;
  if (i < weights)
    to.dw[i] = sum;
  else if (i < weights + s.inputs)
    to.dh_bias[i - weights] = sum;
  else
    to.dbias[i - weights - s.inputs] = sum;
}

template <int kC>
void launch(const HeadShape& s, const HeadSplit& split, const HeadPointers& at, const Parts& parts,
            cudaStream_t stream) {
  const Block block{split.rows_per_block, static_cast<int>(split.columns), static_cast<int>(split.groups),
                    s.inputs % 4 == 0 && aligned(at.h)};
  const dim3 grid(static_cast<unsigned>(split.blocks), static_cast<unsigned>(split.stretches));
  const auto threads = static_cast<unsigned>(split.columns * split.groups);
  static_assert(HeadSplit::padded(kC) == kC);
  const std::size_t bytes = HeadSplit::shared_bytes(s.inputs, s.classes);
  head<kC><<<grid, threads, bytes, stream>>>(s, block, at, parts);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void classifier_head(const HeadShape& s, const HeadSplit& split, const HeadPointers& at, void* workspace,
                     cudaStream_t stream) {
  auto* numbers = static_cast<double*>(workspace);
  const Parts parts{numbers, numbers + split.blocks, reinterpret_cast<float*>(numbers + 2 * split.blocks)};
  switch (HeadSplit::padded(s.classes)) {
    case 4:
      launch<4>(s, split, at, parts, stream);
      break;
    case 10:
      launch<10>(s, split, at, parts, stream);
      break;
    default:
      launch<16>(s, split, at, parts, stream);
  }
  finish<<<blocks_for(split.sums, 32) + 1, 256, 0, stream>>>(s, static_cast<int>(split.blocks), split.sums,
                                                             parts, at);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
