#pragma once

// The way of the sums of cuda:block_mma to the output: pooling, bias, activation.

#include "ops/conv2d/cuda/block_fill.cuh"
#include "ops/cuda/finish.cuh"

namespace headroom::cuda {
namespace {

// How results leave a warp: staged, for windows that lie in several fragments; else from registers to the
// output, one by one, or of quads the largest of four.
enum class BlockForm { staged, plain, quads };

template <int kColumns8, int kRows16>
__device__ inline void stage_results(const BlockPlan& q, const BlockTile& tile, int fragment,
                                     const BlockUndo& undo, const float (&sum)[kRows16][kColumns8][4],
                                     float* stage) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int place = row_place(q, fragment + i, c_row(lane, 2 * half));
      if (place >= tile.places) continue;
#pragma unroll
      for (int j = 0; j < kColumns8; ++j) {
        float* to = stage + (8 * j + c_column(lane, 0)) * q.stage_pitch + place;
        to[0] = sum[i][j][2 * half] * undo.first * undo.second;
        to[q.stage_pitch] = sum[i][j][2 * half + 1] * undo.first * undo.second;
      }
    }
}

// The first map of a lane's results in a group of 8 columns; plain results have two maps.
template <bool kQuads>
__device__ inline int first_map_of(int j) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  return kQuads ? 4 * j + t : 8 * j + 2 * t;
}

// The larger of two, NaN if one of them is.
__device__ inline float larger(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}

template <bool kQuads, int kColumns8, int kRows16, int kAll>
__device__ inline void finish_results(const BlockShape& s, const BlockUndo& undo,
                                      const float (&bias)[kColumns8][2],
                                      const float (&sum)[kRows16][kColumns8][4], float (&v)[kAll]) {
  constexpr int kEach = kQuads ? 1 : 4;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int j = 0; j < kColumns8; ++j)
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const float(&c)[4] = sum[i][j];
        const float x = kQuads ? larger(larger(c[0], c[1]), larger(c[2], c[3])) : c[e];
        v[(i * kColumns8 + j) * kEach + e] = x * undo.first * undo.second + bias[j][e % 2];
      }
  finish_values(static_cast<Activation>(s.activation), v);
}

// `out`: the tile's first place in the block's first map.
template <bool kQuads, int kColumns8, int kRows16, class T, int kAll>
__device__ inline void store_results(const BlockShape& s, const BlockPlan& q, const BlockTile& tile,
                                     int fragment, int maps, const float (&v)[kAll], T* out) {
  constexpr int kEach = kQuads ? 1 : 4;
  const int lane = static_cast<int>(threadIdx.x) % 32, plane = s.out_h * s.out_w;
  out += first_map_of<kQuads>(0) * plane;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int place = row_place(q, fragment + i, c_row(lane, e));
      if (place >= tile.places) continue;
      T* to = out + (e % 2 * plane + place);
#pragma unroll
      for (int j = 0; j < kColumns8; ++j, to += (kQuads ? 4 : 8) * plane)
        if (first_map_of<kQuads>(j) + e % 2 < maps) *to = narrow<T>(v[(i * kColumns8 + j) * kEach + e]);
    }
}

// The same for plain results of four fragments, 8 maps at a time by way of `run`, memory of this warp: lanes
// hold 8 neighbours of a map, and store 32 of them together.
template <int kColumns8, int kRows16, class T>
__device__ inline void store_runs(const BlockShape& s, const BlockPlan& q, const BlockTile& tile,
                                  int fragment, int maps, const float (&v)[kRows16 * kColumns8 * 4],
                                  float* run, T* out) {
  static_assert(16 * kRows16 <= kBlockRun);
  const int lane = static_cast<int>(threadIdx.x) % 32, plane = s.out_h * s.out_w,
            first = row_place(q, fragment, 0);
#pragma unroll
  for (int j = 0; j < kColumns8; ++j) {
    __syncwarp();  // nobody reads the last maps any more
#pragma unroll
    for (int i = 0; i < kRows16; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        run[c_column(lane, e) * kBlockRunPitch + 16 * i + c_row(lane, e)] = v[(i * kColumns8 + j) * 4 + e];
    __syncwarp();
#pragma unroll
    for (int at = 0; at < 16 * kRows16; at += 32) {
      const int place = at + lane;
      if (place >= 16 * kRows16 || first + place >= tile.places) continue;
      T* to = out + (8 * j * plane + first + place);
#pragma unroll
      for (int m = 0; m < 8; ++m, to += plane)
        if (8 * j + m < maps) *to = narrow<T>(run[m * kBlockRunPitch + place]);
    }
  }
}

// One output, from the staged results of its map.
__device__ inline float finished(const BlockShape& s, const BlockPlan& q, const BlockTile& tile, int at,
                                 float bias, const float* stage) {
  const int line = divided(at, q.by_out_w);
  const int top = line * s.step_h, left = (at - line * s.out_w) * s.step_w;
  const int bottom = pool_reach(top, s.pool_h, tile.conv_rows), right = pool_reach(left, s.pool_w, s.conv_w);
  const bool mean = s.pooling == BlockPooling::mean;
  float value = mean ? 0.0F : stage[top * q.place_w + left];
#pragma unroll 1
  for (int row = top; row < bottom; ++row)
#pragma unroll 1
    for (int column = left; column < right; ++column) {
      const float next = stage[row * q.place_w + column];
      value = mean ? value + activate(s.activation, next + bias) : pooled_max(value, next);
    }
  return mean ? value / static_cast<float>((bottom - top) * (right - left))
              : activate(s.activation, value + bias);
}

template <class T>
__device__ __noinline__ void store_tile(const BlockShape& shape, const BlockPlan& plan, const BlockTile& tile,
                                        int first_map, int maps, const float* stage, const T* bias, T* y) {
  const BlockShape s = shape;
  const BlockPlan q = plan;
  const int band = q.rows * s.out_w, wanted = tile.rows * s.out_w, plane = s.out_h * s.out_w;
  T* out = y + (std::int64_t{tile.image} * s.maps + first_map) * plane + tile.first_row * s.out_w;
  for (int e = static_cast<int>(threadIdx.x); e < maps * band; e += static_cast<int>(blockDim.x)) {
    const int map = divided(e, q.by_band), at = e - map * band;
    if (at >= wanted) continue;
    const float shift = bias == nullptr ? 0.0F : widen(bias[first_map + map]);
    out[map * plane + at] = narrow<T>(finished(s, q, tile, at, shift, stage + map * q.stage_pitch));
  }
}

}  // namespace
}  // namespace headroom::cuda
