#pragma once

// Element by element over operands stretched to a common shape, always in whole vectors: long rows are read
// where they lie, a repeated operand is one register, and short rows are first gathered into blocks.

#include "ops/broadcast.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/simd.h"

namespace headroom {

// Rows shorter than this are gathered: their tails would cost more than the copy.
inline constexpr std::int64_t kShortRow = 32;
inline constexpr std::int64_t kGatherBlock = 1024;

// f(a, b) over one row, each operand with a step of 0 or 1. Where f has right(b), that is f for a repeated b.
template <class T, class F>
void map_row(std::int64_t n, const T* a, bool a_moves, const T* b, bool b_moves, T* y, const F& f) {
  using simd::Vec;
  if (a_moves && b_moves) return simd::map2(n, a, b, y, f);
  if constexpr (requires { f.right(*b); })
    if (a_moves && f.has_right(*b)) return simd::map<8>(n, a, y, f.right(*b));
  if (a_moves) return simd::map(n, a, y, [f, v = simd::broadcast(*b)](Vec<T> x) { return f(x, v); });
  return simd::map(n, b, y, [f, v = simd::broadcast(*a)](Vec<T> x) { return f(v, x); });
}

// Copies the elements [begin, end) of operand i, as the output sees them, to `to`.
template <class T>
void gather(const BroadcastLoop& loop, std::size_t i, const T* from, std::int64_t begin, std::int64_t end,
            T* to) {
  const bool moves = loop.inner_step()[i] != 0;
  loop.each_row(begin, end, [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
    T* row = to + (at - begin);
    const T* source = from + offset[i];
    if (moves)
      for (std::int64_t k = 0; k < n; ++k) row[k] = source[k];
    else
      for (std::int64_t k = 0; k < n; ++k) row[k] = *source;
  });
}

// An operand as a sequence of blocks of short rows: as it lies where it has the output's shape; gathered once
// where it is the same in all rows; else gathered for each block.
template <class T>
class GatheredOperand {
 public:
  GatheredOperand(const BroadcastLoop& loop, std::size_t i, const T* from) : loop_(loop), i_(i), from_(from) {
    std::int64_t whole = 1;
    for (int axis = loop.rank; axis-- > 0;) {
      const auto k = static_cast<std::size_t>(axis);
      whole_ &= loop.step[k][i] == whole;
      repeats_ &= axis == loop.rank - 1 || loop.step[k][i] == 0;
      whole *= loop.extent[k];
    }
  }
  // Blocks must follow one another, and be of `kGatherBlock` elements cut down to whole rows, but for the
  // last.
  const T* block(std::int64_t begin, std::int64_t end) {
    if (whole_) return from_ + begin;
    if (!repeats_ || !filled_) gather(loop_, i_, from_, begin, end, values_);
    filled_ = true;
    return values_;
  }

 private:
  const BroadcastLoop& loop_;
  std::size_t i_;
  const T* from_;
  bool whole_ = true, repeats_ = true, filled_ = false;
  T values_[kGatherBlock];
};

template <class T, class F>
void broadcast_map2(const BroadcastLoop& loop, const T* a, const T* b, T* y, const F& f) {
  const bool a_moves = loop.inner_step()[0] != 0, b_moves = loop.inner_step()[1] != 0;
  const bool gathers = loop.rank > 1 && loop.inner() < kShortRow;
  parallel_for(loop.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    if (!gathers)
      return loop.each_row(begin, end,
                           [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
                             map_row(n, a + offset[0], a_moves, b + offset[1], b_moves, y + at, f);
                           });
    GatheredOperand<T> left(loop, 0, a), right(loop, 1, b);
    const std::int64_t step = kGatherBlock - kGatherBlock % loop.inner();
    for (; begin < end; begin += step) {
      const std::int64_t stop = std::min(end, begin + step);
      simd::map2(stop - begin, left.block(begin, stop), right.block(begin, stop), y + begin, f);
    }
  });
}

// f(a, b, c) with a of the output's own shape. Operands that are repeated are always gathered: what is
// computed this way costs more than the copy.
template <class T, class F>
void broadcast_map3(const BroadcastLoop& loop, const T* a, const T* b, const T* c, T* y, const F& f) {
  parallel_for(loop.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    if (loop.rank == 1 && loop.inner_step()[1] != 0 && loop.inner_step()[2] != 0)
      return simd::map3(end - begin, a + begin, b + begin, c + begin, y + begin, f);
    T second[kGatherBlock], third[kGatherBlock];
    for (; begin < end; begin += kGatherBlock) {
      const std::int64_t stop = std::min(end, begin + kGatherBlock);
      gather(loop, 1, b, begin, stop, second);
      gather(loop, 2, c, begin, stop, third);
      simd::map3(stop - begin, a + begin, second, third, y + begin, f);
    }
  });
}

}  // namespace headroom
