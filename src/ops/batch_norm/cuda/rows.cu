// A matrix whose columns are channels, 16 bytes at a time: NHWC images, and [N, C]. Bound by memory: forwards
// x is read for the sums and again for the elements. Blocks sweep the matrix from its end to its beginning
// for the sums, where what a convolution wrote last is still in the second cache, and back for the elements.
// The last block of a tile of columns joins the sums. fp32 sums are of a hundred terms or so each, about a
// mean of a few samples; those of the blocks are joined in fp64.
#include "ops/batch_norm/cuda/finish.cuh"
#include "ops/batch_norm/cuda/rows.h"
#include "ops/cuda/block.cuh"
#include "ops/cuda/rows.cuh"

namespace headroom::cuda {
namespace {

constexpr int kBlock = RowsSplit::kBlock, kDeep = RowsSplit::kDeep;

__device__ unsigned arrivals[RowsSplit::kMaxTiles];

// What is done to dy on its way: nothing; relu's slope, found again from x; or relu's slope by y, kept in g.
enum class Slope { none, from_x, from_y };

__device__ inline Coefficients* coefficients_of(const NormRows& p, void* workspace) {
  return reinterpret_cast<Coefficients*>(static_cast<char*>(workspace) +
                                         norm_rows_sums(p.split.parts, p.split.channels));
}

// The forward value of an element before relu, the same to the bit wherever it is needed.
__device__ inline float normed(float x, float high, float factor, float shift) {
  return __fmaf_rn(x - high, factor, shift);
}

// Sums over the rows of a block, then by the last block of the tile over the parts.
template <class T, bool kGradient, int kV>
__device__ void join(const NormRows& p, const NormRowsTensors& t, const double (&mine_of)[2][kV]) {
  __shared__ double shared[kBlock * kV];
  const RowsSplit& s = p.split;
  const RowsMine mine(s);
  const int columns = s.tile * kV, column0 = static_cast<int>(blockIdx.x) * columns;
  auto* const partial = static_cast<double*>(t.workspace);
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    if (mine.line < s.lines)
#pragma unroll
      for (int v = 0; v < kV; ++v)
        shared[mine.line * columns + static_cast<int>(threadIdx.x) % s.tile * kV + v] = mine_of[which][v];
    __syncthreads();
    for (int column = threadIdx.x; column < columns; column += kBlock) {
      if (column0 + column >= s.channels) continue;
      double sum = 0;
#pragma unroll 8
      for (int l = 0; l < s.lines; ++l) sum += shared[l * columns + column];
      partial[(std::int64_t{blockIdx.y} * 2 + which) * s.channels + column0 + column] = sum;
    }
    __syncthreads();
  }
  if (!last_to_arrive(arrivals + blockIdx.x, static_cast<unsigned>(s.parts))) return;
  const int slices = kBlock / columns, slice = static_cast<int>(threadIdx.x) / columns;
  const int column = static_cast<int>(threadIdx.x) % columns;
  const std::int64_t c = column0 + column;
  Sums total;
  if (slice < slices && c < s.channels) {
#pragma unroll 8
    for (int part = slice; part < s.parts; part += slices) {
      total.first += __ldcg(partial + std::int64_t{part} * 2 * s.channels + c);
      total.second += __ldcg(partial + (std::int64_t{part} * 2 + 1) * s.channels + c);
    }
    shared[2 * (slice * columns + column)] = total.first;
    shared[2 * (slice * columns + column) + 1] = total.second;
  }
  __syncthreads();
  if (slice != 0 || c >= s.channels) return;
  for (int i = 1; i < slices; ++i)
    total.first += shared[2 * (i * columns + column)], total.second += shared[2 * (i * columns + column) + 1];
  const BatchNorm norm{.rows = s.rows,
                       .channels = s.channels,
                       .plane = 1,
                       .epsilon = p.epsilon,
                       .momentum = p.momentum,
                       .dtype = p.dtype,
                       .parameters = p.parameters,
                       .split = {}};
  const BatchNormTensors small{.x = t.x,
                               .scale = t.scale,
                               .bias = t.bias,
                               .mean = t.mean,
                               .var = t.var,
                               .new_mean = t.new_mean,
                               .new_var = t.new_var,
                               .saved_mean = t.saved_mean,
                               .saved_inv_std = t.saved_inv_std,
                               .dscale = t.dscale,
                               .dbias = t.dbias};
  if constexpr (kGradient) {
    const double mean = static_cast<const double*>(t.mean)[c];
    total.second -= mean * total.first;  // the sum of dy (x - mean)
    coefficients_of(p, t.workspace)[c] =
        finish<T, BatchNormKind::training_grad>(norm, small, c, total, true, mean);
  } else {
    coefficients_of(p, t.workspace)[c] = finish<T, BatchNormKind::training>(norm, small, c, total, true, 0);
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) gather_rows(NormRows p, NormRowsTensors t) {
  constexpr int kV = kPack<T>;
  double sums[2][kV] = {};
  Pack<T> x[kDeep];
  sweep_rows(
      p.split, RowsMine(p.split), true, [&](int u, std::int64_t i) { x[u] = pack_at<T>(t.x, i); },
      [&](int u, std::int64_t) {
#pragma unroll
        for (int v = 0; v < kV; ++v) {
          const double value = double{widen(x[u].v[v])};
          sums[0][v] += value, sums[1][v] = fma(value, value, sums[1][v]);
        }
      });
  join<T, false, kV>(p, t, sums);
}

// The forward coefficients of a column, for the slope of relu.
struct Forward {
  float high, factor, shift;
};
template <class T>
__device__ Forward forward_of(const NormRows& p, const NormRowsTensors& t, std::int64_t c) {
  const double mean = static_cast<const double*>(t.mean)[c], inv_std = static_cast<const double*>(t.var)[c];
  const Coefficients k =
      affine<float>(parameter(t.scale, p.parameters, c), parameter(t.bias, p.parameters, c), mean, inv_std);
  return {static_cast<float>(k.high), static_cast<float>(k.factor), static_cast<float>(k.shift)};
}

template <class T>
__device__ inline bool is_on(float x, float high, float factor, float shift) {
  return widen(narrow<T>(normed(x, high, factor, shift))) > 0;
}

template <class T, Slope kSlope>
__global__ void __launch_bounds__(kBlock) gather_rows_grad(NormRows p, NormRowsTensors t) {
  constexpr int kV = kPack<T>;
  const RowsMine mine(p.split);
  float high[kV] = {}, factor[kV] = {}, shift[kV] = {};
  double sums[2][kV] = {};
  if (kSlope == Slope::from_x && mine.there)
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const Forward f = forward_of<T>(p, t, mine.pack * kV + v);
      high[v] = f.high, factor[v] = f.factor, shift[v] = f.shift;
    }
  Pack<T> x[kDeep], dy[kDeep], y[kDeep], more[kDeep];
  const bool summed = t.dy2 != nullptr;
  sweep_rows(
      p.split, mine, true,
      [&](int u, std::int64_t i) {
        x[u] = pack_at<T>(t.x, i), dy[u] = pack_at<T>(t.dy, i);
        if constexpr (kSlope == Slope::from_y) {
          y[u] = pack_at<T>(t.y, i);
          if (summed) more[u] = pack_at<T>(t.dy2, i);
        }
      },
      [&](int u, std::int64_t i) {
#pragma unroll
        for (int v = 0; v < kV; ++v) {
          const float value = widen(x[u].v[v]);
          float d = widen(dy[u].v[v]);
          if constexpr (kSlope == Slope::from_y) {
            if (summed) d += widen(more[u].v[v]);
            d = widen(y[u].v[v]) > 0 ? d : 0.0f;
            dy[u].v[v] = narrow<T>(d);
          }
          if constexpr (kSlope == Slope::from_x)
            if (!is_on<T>(value, high[v], factor[v], shift[v])) d = 0;
          sums[0][v] += double{d}, sums[1][v] = fma(double{d}, double{value}, sums[1][v]);
        }
        if constexpr (kSlope == Slope::from_y) static_cast<Pack<T>*>(t.g)[i] = dy[u];
      });
  join<T, true, kV>(p, t, sums);
}

template <class T, bool kGiven>
__global__ void __launch_bounds__(kBlock) apply_rows(NormRows p, NormRowsTensors t) {
  constexpr int kV = kPack<T>;
  const RowsMine mine(p.split);
  float high[kV] = {}, factor[kV] = {}, shift[kV] = {};
  if (mine.there)
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const std::int64_t c = mine.pack * kV + v;
      Coefficients k;
      if constexpr (kGiven)  // statistics that are given
        k = affine<float>(parameter(t.scale, p.parameters, c), parameter(t.bias, p.parameters, c),
                          parameter(t.mean, p.parameters, c),
                          1 / sqrt(parameter(t.var, p.parameters, c) + p.epsilon));
      else
        k = coefficients_of(p, t.workspace)[c];
      high[v] = static_cast<float>(k.high), factor[v] = static_cast<float>(k.factor);
      shift[v] = static_cast<float>(k.shift);
    }
  Pack<T> x[kDeep], z[kDeep];
  const bool residual = t.residual != nullptr, relu = p.relu;
  sweep_rows(
      p.split, mine, false,
      [&](int u, std::int64_t i) {
        x[u] = pack_at<T>(t.x, i);
        if (residual) z[u] = pack_at<T>(t.residual, i);
      },
      [&](int u, std::int64_t i) {
#pragma unroll
        for (int v = 0; v < kV; ++v) {
          float y = normed(widen(x[u].v[v]), high[v], factor[v], shift[v]);
          if (residual) y += widen(z[u].v[v]);
          if (relu) y = y < 0 ? 0 : y;  // NaN stays
          x[u].v[v] = narrow<T>(y);
        }
        static_cast<Pack<T>*>(t.out)[i] = x[u];
      });
}

template <class T, bool kSlopeFromX>
__global__ void __launch_bounds__(kBlock) apply_rows_grad(NormRows p, NormRowsTensors t) {
  constexpr int kV = kPack<T>;
  const RowsMine mine(p.split);
  float high[kV] = {}, factor[kV] = {}, shift[kV] = {}, slope[kV] = {}, forward[kV] = {};
  if (mine.there)
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const std::int64_t c = mine.pack * kV + v;
      const Coefficients k = coefficients_of(p, t.workspace)[c];
      high[v] = static_cast<float>(k.high), factor[v] = static_cast<float>(k.factor);
      shift[v] = static_cast<float>(k.shift), slope[v] = static_cast<float>(k.slope);
      if constexpr (kSlopeFromX) forward[v] = forward_of<T>(p, t, c).shift;
    }
  Pack<T> x[kDeep], dy[kDeep];
  const void* from = t.g != nullptr ? t.g : t.dy;
  sweep_rows(
      p.split, mine, false,
      [&](int u, std::int64_t i) { x[u] = pack_at<T>(t.x, i), dy[u] = pack_at<T>(from, i); },
      [&](int u, std::int64_t i) {
#pragma unroll
        for (int v = 0; v < kV; ++v) {
          const float value = widen(x[u].v[v]);
          float d = widen(dy[u].v[v]);
          if constexpr (kSlopeFromX)
            if (!is_on<T>(value, high[v], factor[v], forward[v])) d = 0;
          x[u].v[v] = narrow<T>(__fmaf_rn(d, factor[v], __fmaf_rn(value - high[v], slope[v], shift[v])));
        }
        static_cast<Pack<T>*>(t.out)[i] = x[u];
      });
}

template <class T>
void run(const NormRows& p, const NormRowsTensors& t, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>(p.split.tiles), parts = static_cast<unsigned>(p.split.parts);
  const dim3 grid(tiles, parts), fine(tiles, p.split.chunks > 2 * parts ? 2 * parts : parts);
  switch (p.kind) {
    case BatchNormKind::inference:
      apply_rows<T, true><<<fine, kBlock, 0, stream>>>(p, t);
      break;
    case BatchNormKind::training:
      gather_rows<T><<<grid, kBlock, 0, stream>>>(p, t);
      HEADROOM_CUDA_LAUNCHED();
      apply_rows<T, false><<<fine, kBlock, 0, stream>>>(p, t);
      break;
    default:
      if (t.g != nullptr)
        gather_rows_grad<T, Slope::from_y><<<grid, kBlock, 0, stream>>>(p, t);
      else if (p.relu)
        gather_rows_grad<T, Slope::from_x><<<grid, kBlock, 0, stream>>>(p, t);
      else
        gather_rows_grad<T, Slope::none><<<grid, kBlock, 0, stream>>>(p, t);
      HEADROOM_CUDA_LAUNCHED();
      if (p.relu && t.g == nullptr)
        apply_rows_grad<T, true><<<fine, kBlock, 0, stream>>>(p, t);
      else
        apply_rows_grad<T, false><<<fine, kBlock, 0, stream>>>(p, t);
  }
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void batch_norm_rows(const NormRows& p, const NormRowsTensors& t, cudaStream_t stream) {
  if (p.dtype == DType::f16) return run<Half>(p, t, stream);
  if (p.dtype == DType::bf16) return run<Brain>(p, t, stream);
  run<float>(p, t, stream);
}

}  // namespace headroom::cuda
