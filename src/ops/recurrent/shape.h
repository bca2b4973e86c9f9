#pragma once

// The parsed problem and its tensors, as references, CPU and GPU kernels share them.

#include <cstdint>

#include "base/host_device.h"

namespace headroom {

enum class CellKind { lstm, gru, rnn };

// Of an operator or of its gradient.
struct RecurrentProblem {
  CellKind kind = CellKind::lstm;
  std::int64_t gates = 4, seq = 1, batch = 1, input = 1, hidden = 1, dirs = 1;
  bool bias = false, initial = false;
  bool reversed = false;  // the first direction runs backwards; a second one always does
  bool linear_before_reset = false, relu = false;
  bool lengths = false, wide_lengths = false;               // wide: int64
  bool saves = false;                                       // the last output is `saved`
  bool dy = false, dy_h = false, dy_c = false, dx = false;  // gradients: which are given, is dX wanted?

  HEADROOM_HOST_DEVICE std::int64_t cells() const { return batch * hidden; }
  HEADROOM_HOST_DEVICE std::int64_t rows() const { return gates * hidden; }
  // An lstm saves i, o, f, g and c; a gru z, r, g, and R h + b if it resets after the product.
  HEADROOM_HOST_DEVICE std::int64_t saved_parts() const {
    return kind == CellKind::lstm ? 5 : kind == CellKind::rnn ? 0 : resets_late() ? 3 : 4;
  }
  // A gru that resets the states before it multiplies them needs a second product each step.
  HEADROOM_HOST_DEVICE bool resets_late() const { return kind == CellKind::gru && !linear_before_reset; }
  HEADROOM_HOST_DEVICE bool backwards(std::int64_t dir) const { return reversed || dir == 1; }
  // The place in X and Y of step `t` of a direction, and of the step before the one at `place`. The latter is
  // outside [0, seq) for the first step.
  HEADROOM_HOST_DEVICE std::int64_t place(std::int64_t dir, std::int64_t t) const {
    return backwards(dir) ? seq - 1 - t : t;
  }
  HEADROOM_HOST_DEVICE std::int64_t before(std::int64_t dir, std::int64_t place) const {
    return backwards(dir) ? place + 1 : place - 1;
  }
};

// How long the sequence of each item is. Every item has all steps where no lengths are given.
struct RecurrentLengths {
  const void* data = nullptr;
  bool wide = false;
  std::int64_t seq = 0;

  HEADROOM_HOST_DEVICE std::int64_t of(std::int64_t item) const {
    if (data == nullptr) return seq;
    const std::int64_t length =
        wide ? static_cast<const std::int64_t*>(data)[item] : static_cast<const std::int32_t*>(data)[item];
    return length < seq ? length : seq;
  }
  HEADROOM_HOST_DEVICE bool cover(std::int64_t item, std::int64_t place) const {
    return place >= 0 && place < of(item);
  }
};

// Whole tensors; those that are absent are null. Wide: the type in which kernels compute and `saved` is
// stored.
template <class T, class Wide>
struct RecurrentTensors {
  const T *x, *w, *r, *b, *h0, *c0;
  T *y, *y_h, *y_c;
  Wide* saved;
  RecurrentLengths lengths;
};
template <class T, class Wide>
struct RecurrentGradTensors {
  const T *x, *w, *r, *y;
  const Wide* saved;
  const T *h0, *c0, *dy, *dy_h, *dy_c;
  T *dw, *dr, *db, *dx, *dh0, *dc0;
  RecurrentLengths lengths;
};

}  // namespace headroom
