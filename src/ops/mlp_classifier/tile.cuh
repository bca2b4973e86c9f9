#pragma once

// What a block of mlp_classifier has in shared memory, and how rows and weights come there, in parts of fp16.

#include "ops/cuda/block.cuh"
#include "ops/cuda/fp16_parts.cuh"
#include "ops/mlp_classifier/plan.h"

namespace headroom::cuda {

using MlpPlan = MlpClassifierPlan;

// Shared memory of a block. A line of x, w and dz holds the high parts of eight elements, then their low
// parts, then those of the next eight; a gap at its end puts eight lines into different banks. Before they
// are split, x and w are fp32 in the same place.
struct MlpTile {
  Half *x, *w, *dz;  // [rows, inputs], [units, inputs], [rows, units]
  float* z;          // [rows, units]: what this block's inputs add to the hidden layer; own rows later hold h
  float* w2;         // [classes, units], zeros beyond the last unit
  float* b1;         // [units]
  float* d;          // [own rows, kMaxClasses]: slopes of the loss by the scores
  float* db1;        // [warps, units]
  float* dw2;        // [classes, units]: sums of this block's rows
  float* b2;         // [kMaxClasses], zeros beyond the last class
  std::int64_t* labels;  // [own rows]
  unsigned* largest;     // bits of the largest finite value of x, of w and of w2

  // Its addresses are computed anew wherever it is made; see thread_anew.
  __device__ MlpTile(unsigned char* shared, const MlpPlan& p, int classes) {
    int none = 0;
    asm volatile("" : "+r"(none));
    x = reinterpret_cast<Half*>(shared + none);
    w = x + p.rows * MlpPlan::line(p.inputs);
    dz = w + p.units * MlpPlan::line(p.inputs);
    z = reinterpret_cast<float*>(dz + p.rows * MlpPlan::line(p.units));
    w2 = z + p.rows * MlpPlan::float_line(p.units);
    b1 = w2 + classes * MlpPlan::float_line(p.units);
    d = b1 + p.units;
    db1 = d + p.own_rows() * MlpPlan::kMaxClasses;
    dw2 = db1 + MlpPlan::kWarps * p.units;
    b2 = dw2 + classes * p.units;
    labels = reinterpret_cast<std::int64_t*>(b2 + MlpPlan::kMaxClasses);
    largest = reinterpret_cast<unsigned*>(labels + p.own_rows());
  }
};

// The number of this thread, which the compiler takes for new wherever it is asked for: what follows from it
// is computed again in each tile. Else all of that would be kept from tile to tile, in more registers than
// there are.
__device__ inline int thread_anew() {
  int thread = static_cast<int>(threadIdx.x);
  asm volatile("" : "+r"(thread));
  return thread;
}

// Every line of code is fetched in every launch, and most of them run once or twice: loops that stay loops
// are faster here than unrolled ones, and code that is not there is the fastest.

// Where an element of a row lies in its line: its high part; the low part is kLow further.
constexpr int kLow = 8;
__device__ constexpr int place_of_part(int element) { return 2 * element - element % 8; }

// A thread's way through rows x columns: every kThreads-th group of four elements.
struct Walk {
  int row, column, columns, row_step, column_step;
  __device__ explicit Walk(int all_columns, int groups_before = 0) : columns(all_columns) {
    const int per_row = columns / 4, first = thread_anew() + groups_before;
    row = first / per_row, column = (first - row * per_row) * 4;
    row_step = MlpPlan::kThreads / per_row, column_step = (MlpPlan::kThreads - row_step * per_row) * 4;
  }
  __device__ void next() {
    row += row_step, column += column_step;
    if (column >= columns) column -= columns, ++row;
  }
  template <class T>
  __device__ T* in(T* at) const {
    return at + row * MlpPlan::line(columns);
  }
};

// A piece of a matrix in memory, and how much of it is there. Zeros are taken for the rest.
struct Piece {
  const float* from;
  int ld, rows, columns;
  bool whole;  // rows can be copied four elements at a time
};

// Queues copies of rows x columns to shared memory, as they are.
__device__ inline void fetch(Half* to, int rows, int columns, const Piece& piece) {
#pragma unroll 1
  for (Walk walk(columns); walk.row < rows; walk.next()) {
    auto* const at = reinterpret_cast<float*>(walk.in(to) + 2 * walk.column);
    const int there = walk.row < piece.rows ? max(0, min(4, piece.columns - walk.column)) : 0;
    const float* const from = there > 0 ? piece.from + (walk.row * piece.ld + walk.column) : piece.from;
    if (piece.whole)
      copy_async<16>(at, from, 4 * there);
    else
#pragma unroll
      for (int e = 0; e < 4; ++e) copy_async<4>(at + e, e < there ? from + e : piece.from, e < there ? 4 : 0);
  }
}

// Bits of the absolute value, 0 for infinities and NaN: as integers they compare as the values do.
constexpr unsigned kInfinity = 0x7F800000U;
__device__ inline unsigned finite_size(float x) {
  const unsigned size = __float_as_uint(x) & 0x7FFFFFFFU;
  return size < kInfinity ? size : 0;
}

// As finite_size of the largest of four and `most`, where all of them are finite: NaN is left out, infinity
// stays.
__device__ inline float larger_size(float most, const float4& x) {
  return fmaxf(fmaxf(fmaxf(most, fabsf(x.x)), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
}

// The largest of all threads.
__device__ inline void gather_largest(unsigned* largest, unsigned most) {
  const unsigned of_warp = __reduce_max_sync(~0u, most);
  if (threadIdx.x % 32 == 0) atomicMax(largest, of_warp);
}

// The power of two that gives parts of values up to `largest` their size back.
__device__ inline float power_of(unsigned largest, int parts) { return scale_of(largest, 1, parts).power; }
__device__ inline float factor_of(float power) { return power_of_two(254 - (__float_as_int(power) >> 23)); }
__device__ inline UnscaleParts unscale_of(float power_a, float power_b) {
  return {PartsScale{power_a, 1, 0, 0}, PartsScale{power_b, 1, 0, 0}};
}

// Two neighbours in parts; values are multiplied by `factor` first.
struct HalfPairs {
  __half2 hi, lo;
};
__device__ inline HalfPairs pairs_of(float x, float y, float factor) {
  x *= factor, y *= factor;
  const __half2 hi = __floats2half2_rn(x, y);
  const float2 back = __half22float2(hi);
  return {hi, __floats2half2_rn(x - back.x, y - back.y)};
}

__device__ inline uint2 bits_of(__half2 x, __half2 y) {
  return make_uint2(*reinterpret_cast<const unsigned*>(&x), *reinterpret_cast<const unsigned*>(&y));
}

// What a thread holds of rows x columns that were fetched, kGroups groups of four, from where it looks for
// the largest to where it splits them in place. The eight elements of two neighbouring threads take the place
// they had.
template <int kGroups>
struct Held {
  float4 v[kGroups];

  __device__ Held(const Half* at, int rows, int columns) {
    Walk from(columns);
#pragma unroll
    for (int i = 0; i < kGroups; ++i, from.next())
      v[i] = from.row < rows ? *reinterpret_cast<const float4*>(from.in(at) + 2 * from.column)
                             : make_float4(0, 0, 0, 0);
  }
  __device__ unsigned largest() const {
    float size = 0;
#pragma unroll
    for (int i = 0; i < kGroups; ++i) size = larger_size(size, v[i]);
    unsigned most = __float_as_uint(size);
    if (most < kInfinity) return most;
    most = 0;  // rare: once more, without what is not finite
#pragma unroll
    for (int i = 0; i < kGroups; ++i)
      most = max(max(most, max(finite_size(v[i].x), finite_size(v[i].y))),
                 max(finite_size(v[i].z), finite_size(v[i].w)));
    return most;
  }
  template <int kParts>
  __device__ void write(Half* at, int rows, int columns, float factor) const {
    Walk to(columns);
#pragma unroll
    for (int i = 0; i < kGroups; ++i, to.next()) {
      if (to.row >= rows) break;
      const HalfPairs a = pairs_of(v[i].x, v[i].y, factor), b = pairs_of(v[i].z, v[i].w, factor);
      Half* const place = to.in(at) + place_of_part(to.column);
      *reinterpret_cast<uint2*>(place) = bits_of(a.hi, b.hi);
      if constexpr (kParts == 2) *reinterpret_cast<uint2*>(place + kLow) = bits_of(a.lo, b.lo);
    }
  }
};

// Groups of four that a thread holds, at the most.
__device__ inline int groups_of(int rows, int columns) {
  return (rows * columns / 4 + MlpPlan::kThreads - 1) / MlpPlan::kThreads;
}

template <int kParts, int kGroups>
__device__ inline float split_groups(unsigned* largest, Half* at, int rows, int columns) {
  const Held<kGroups> held(at, rows, columns);
  gather_largest(largest, held.largest());
  __syncthreads();
  const float power = power_of(*largest, kParts);
  held.template write<kParts>(at, rows, columns, factor_of(power));
  return power;
}

// Splits rows x columns and returns the power of their scale. By code for as many groups as there are.
template <int kParts>
__device__ inline float split(unsigned* largest, Half* at, int rows, int columns) {
  static_assert(MlpPlan::kHeld == 16);
  const int groups = groups_of(rows, columns);
  if (groups <= 4) return split_groups<kParts, 4>(largest, at, rows, columns);
  if (groups <= 8) return split_groups<kParts, 8>(largest, at, rows, columns);
  if (groups <= 12) return split_groups<kParts, 12>(largest, at, rows, columns);
  return split_groups<kParts, 16>(largest, at, rows, columns);
}

}  // namespace headroom::cuda
