// Backward: a launch for each step gives the gradients of the gates' sums; then one product each of all steps
// for dR, dW and dX.
#include "ops/cuda/index.cuh"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/cuda.h"
#include "ops/recurrent/cuda_product.cuh"

namespace headroom::cuda {
namespace {

template <class T>
struct Gradient {
  using C = Compute<T>;
  RecurrentProblem s;
  RecurrentGradTensors<T, C> t;
  // sums [dirs, seq, batch, rows]: as the states' products have them; candidates [dirs, seq, batch, hidden]:
  // the last gate's of a gru with linear_before_reset, as the inputs' have them; dh, dc [dirs, batch, hidden]
  C *sums, *candidates, *dh, *dc;

  // i: place and item.
  __device__ C* sums_of(std::int64_t dir, std::int64_t i) const {
    return sums + (dir * s.seq * s.batch + i) * s.rows();
  }
  __device__ C by_input(std::int64_t dir, std::int64_t i, std::int64_t row) const {
    if (s.kind == CellKind::gru && s.linear_before_reset && row >= 2 * s.hidden)
      return candidates[(dir * s.seq * s.batch + i) * s.hidden + row - 2 * s.hidden];
    return sums_of(dir, i)[row];
  }
  __device__ C saved(std::int64_t dir, std::int64_t i, int part, std::int64_t unit) const {
    return t.saved[((dir * s.seq * s.batch + i) * s.saved_parts() + part) * s.hidden + unit];
  }
  __device__ C h_before(std::int64_t dir, std::int64_t i, std::int64_t unit) const {
    const Cut at = cut(i, s.batch);
    const std::int64_t before = s.before(dir, at.whole);
    if (t.lengths.cover(at.rest, before))
      return widen(t.y[((before * s.dirs + dir) * s.batch + at.rest) * s.hidden + unit]);
    return t.h0 == nullptr ? C{0} : C(widen(t.h0[(dir * s.batch + at.rest) * s.hidden + unit]));
  }
  __device__ C c_before(std::int64_t dir, std::int64_t i, std::int64_t unit) const {
    const Cut at = cut(i, s.batch);
    const std::int64_t before = s.before(dir, at.whole);
    if (t.lengths.cover(at.rest, before)) return saved(dir, before * s.batch + at.rest, 4, unit);
    return t.c0 == nullptr ? C{0} : C(widen(t.c0[(dir * s.batch + at.rest) * s.hidden + unit]));
  }
  // The gradients of gates from row `first` on times column `unit` of R. Neighbours read in order.
  __device__ C through_states(std::int64_t dir, std::int64_t i, std::int64_t first, std::int64_t count,
                              std::int64_t unit) const {
    const C* d = sums_of(dir, i) + first;
    const T* r = t.r + (dir * s.rows() + first) * s.hidden + unit;
    C sum = 0;
    for (std::int64_t row = 0; row < count; ++row) sum += d[row] * C(widen(r[row * s.hidden]));
    return sum;
  }
};

template <class T>
__device__ void write_sums(const Gradient<T>& g, std::int64_t dir, std::int64_t i, std::int64_t unit,
                           std::int64_t cell, Compute<T> dh) {
  using C = Compute<T>;
  const std::int64_t n = g.s.hidden;
  C* d = g.sums_of(dir, i) + unit;
  if (g.s.kind == CellKind::lstm) {
    const ::headroom::recurrent::LstmGates<C> gates{g.saved(dir, i, 0, unit), g.saved(dir, i, 1, unit),
                                                    g.saved(dir, i, 2, unit), g.saved(dir, i, 3, unit)};
    const auto all = ::headroom::recurrent::lstm_gradient<C>(gates, tanh(g.saved(dir, i, 4, unit)),
                                                             g.c_before(dir, i, unit), dh, g.dc[cell]);
    d[0] = all.i, d[n] = all.o, d[2 * n] = all.f, d[3 * n] = all.g, g.dc[cell] = all.c, g.dh[cell] = 0;
  } else if (g.s.kind == CellKind::rnn) {
    const Cut at = cut(i, g.s.batch);
    const C y = widen(g.t.y[((at.whole * g.s.dirs + dir) * g.s.batch + at.rest) * n + unit]);
    d[0] = g.s.relu ? (y > 0 ? dh : C{0}) : ::headroom::recurrent::through_tanh(dh, y);
    g.dh[cell] = 0;
  } else {
    const auto all = ::headroom::recurrent::gru_gradient<C>(
        g.saved(dir, i, 0, unit), g.saved(dir, i, 2, unit), g.h_before(dir, i, unit), dh);
    d[0] = all.z, d[2 * n] = all.g, g.dh[cell] = all.h;
    if (!g.s.linear_before_reset) return;
    const C reset = g.saved(dir, i, 1, unit);
    d[n] = ::headroom::recurrent::through_sigmoid(all.g * g.saved(dir, i, 3, unit), reset);
    d[2 * n] = all.g * reset;
    g.candidates[(dir * g.s.seq * g.s.batch + i) * n + unit] = all.g;
  }
}

// The gradient of h after step `n` comes from Y and from the step after it, whose sums the last launch wrote.
// Step -1 stands before the first one: its states are the initial ones.
template <class T>
__global__ void __launch_bounds__(kThreads) run_step(const __grid_constant__ Gradient<T> g, std::int64_t n) {
  using C = Compute<T>;
  const RecurrentProblem& s = g.s;
  for (std::int64_t cell = thread_number(); cell < s.dirs * s.cells(); cell += thread_count()) {
    const Cut dir = cut(cell, s.cells()), at = cut(dir.rest, s.hidden);
    const std::int64_t item = at.whole, unit = at.rest;
    C dh = 0;
    if (n == s.seq - 1) {
      dh = g.t.dy_h == nullptr ? C{0} : C(widen(g.t.dy_h[cell]));
      g.dc[cell] = g.t.dy_c == nullptr ? C{0} : C(widen(g.t.dy_c[cell]));
    } else {
      const std::int64_t after = s.place(dir.whole, n + 1);
      dh = g.dh[cell];
      if (g.t.lengths.cover(item, after))
        dh += g.through_states(dir.whole, after * s.batch + item, 0,
                               s.resets_late() ? 2 * s.hidden : s.rows(), unit);
    }
    if (n < 0) {
      g.t.dh0[cell] = narrow<T>(dh);
      if (g.t.dc0 != nullptr) g.t.dc0[cell] = narrow<T>(g.dc[cell]);
      continue;
    }
    const std::int64_t place = s.place(dir.whole, n), i = place * s.batch + item;
    if (g.t.lengths.cover(item, place)) {
      if (g.t.dy != nullptr)
        dh += C(widen(g.t.dy[((place * s.dirs + dir.whole) * s.batch + item) * s.hidden + unit]));
      write_sums(g, dir.whole, i, unit, cell, dh);
      continue;
    }
    g.dh[cell] = dh;
    for (std::int64_t gate = 0; gate < s.gates; ++gate) g.sums_of(dir.whole, i)[gate * s.hidden + unit] = 0;
    if (s.kind == CellKind::gru && s.linear_before_reset)
      g.candidates[(dir.whole * s.seq * s.batch + i) * s.hidden + unit] = 0;
  }
}

// The reset gate of a gru that multiplies after it, once all candidates of the step are there.
template <class T>
__global__ void __launch_bounds__(kThreads) end_gru(const __grid_constant__ Gradient<T> g, std::int64_t n) {
  using C = Compute<T>;
  const RecurrentProblem& s = g.s;
  for (std::int64_t cell = thread_number(); cell < s.dirs * s.cells(); cell += thread_count()) {
    const Cut dir = cut(cell, s.cells()), at = cut(dir.rest, s.hidden);
    const std::int64_t place = s.place(dir.whole, n), i = place * s.batch + at.whole;
    if (!g.t.lengths.cover(at.whole, place)) continue;
    const C product = g.through_states(dir.whole, i, 2 * s.hidden, s.hidden, at.rest),
            reset = g.saved(dir.whole, i, 1, at.rest);
    g.sums_of(dir.whole, i)[s.hidden + at.rest] =
        ::headroom::recurrent::through_sigmoid(product * g.h_before(dir.whole, i, at.rest), reset);
    g.dh[cell] += product * reset;
  }
}

// dB: the sums over all items, as the inputs have them and as the states do.
template <class T>
__global__ void __launch_bounds__(kThreads) sum_biases(const __grid_constant__ Gradient<T> g) {
  const RecurrentProblem& s = g.s;
  const std::int64_t rows = s.rows();
  for (std::int64_t n = thread_number(); n < 2 * s.dirs * rows; n += thread_count()) {
    const Cut half = cut(n, rows);
    const std::int64_t dir = half.whole / 2, row = half.rest;
    Compute<T> sum = 0;
    for (std::int64_t i = 0; i < s.seq * s.batch; ++i)
      sum += half.whole % 2 == 0 ? g.by_input(dir, i, row) : g.sums_of(dir, i)[row];
    g.t.db[n] = narrow<T>(sum);
  }
}

// Rows [first, first + m) of dR; with `resets` the states are r h.
template <class T>
struct StateWeights {
  Gradient<T> g;
  std::int64_t dir, first, m, n, k;
  bool resets;
  static constexpr bool kLeftAlongK = false;
  __device__ Compute<T> left(std::int64_t row, std::int64_t i) const {
    return g.sums_of(dir, i)[first + row];
  }
  __device__ Compute<T> right(std::int64_t i, std::int64_t unit) const {
    return g.h_before(dir, i, unit) * (resets ? g.saved(dir, i, 1, unit) : Compute<T>{1});
  }
  __device__ void write(std::int64_t row, std::int64_t unit, Compute<T> sum) const {
    g.t.dr[(dir * g.s.rows() + first + row) * n + unit] = narrow<T>(sum);
  }
};

template <class T>
struct InputWeights {
  Gradient<T> g;
  std::int64_t dir, m, n, k;
  static constexpr bool kLeftAlongK = false;
  __device__ Compute<T> left(std::int64_t row, std::int64_t i) const { return g.by_input(dir, i, row); }
  __device__ Compute<T> right(std::int64_t i, std::int64_t column) const {
    return widen(g.t.x[i * n + column]);
  }
  __device__ void write(std::int64_t row, std::int64_t column, Compute<T> sum) const {
    g.t.dw[(dir * m + row) * n + column] = narrow<T>(sum);
  }
};

// Both directions' rows follow each other.
template <class T>
struct Inputs {
  Gradient<T> g;
  std::int64_t m, n, k;
  static constexpr bool kLeftAlongK = true;
  __device__ Compute<T> left(std::int64_t i, std::int64_t row) const {
    const Cut dir = cut(row, g.s.rows());
    return g.by_input(dir.whole, i, dir.rest);
  }
  __device__ Compute<T> right(std::int64_t row, std::int64_t column) const {
    return widen(g.t.w[row * n + column]);
  }
  __device__ void write(std::int64_t i, std::int64_t column, Compute<T> sum) const {
    g.t.dx[i * n + column] = narrow<T>(sum);
  }
};

template <class T>
void run_products(const Gradient<T>& g, cudaStream_t stream) {
  const RecurrentProblem& s = g.s;
  const std::int64_t items = s.seq * s.batch, rows = s.rows(), late = s.resets_late() ? s.hidden : 0;
  for (std::int64_t dir = 0; dir < s.dirs; ++dir) {
    product<T>(StateWeights<T>{g, dir, 0, rows - late, s.hidden, items, false}, stream);
    if (late > 0) product<T>(StateWeights<T>{g, dir, rows - late, late, s.hidden, items, true}, stream);
    product<T>(InputWeights<T>{g, dir, rows, s.input, items}, stream);
  }
  if (g.t.dx != nullptr) product<T>(Inputs<T>{g, items, s.input, s.dirs * rows}, stream);
  if (g.t.db == nullptr) return;
  sum_biases<<<blocks_striding(2 * s.dirs * rows), kThreads, 0, stream>>>(g);
  HEADROOM_CUDA_LAUNCHED();
}

template <class T>
Gradient<T> typed(const RecurrentProblem& s, const AnyRecurrentGradTensors& t, void* scratch) {
  using C = Compute<T>;
  const auto in = [](const void* tensor) { return static_cast<const T*>(tensor); };
  const auto out = [](void* tensor) { return static_cast<T*>(tensor); };
  auto* sums = static_cast<C*>(scratch);
  C* candidates = sums + s.dirs * s.seq * s.batch * s.rows();
  C* dh = candidates + (s.kind == CellKind::gru ? s.dirs * s.seq * s.cells() : 0);
  return {
      s,
      {in(t.x), in(t.w), in(t.r), in(t.y), static_cast<const C*>(t.saved), in(t.h0), in(t.c0), in(t.dy),
       in(t.dy_h), in(t.dy_c), out(t.dw), out(t.dr), out(t.db), out(t.dx), out(t.dh0), out(t.dc0), t.lengths},
      sums,
      candidates,
      dh,
      dh + s.dirs * s.cells()};
}

}  // namespace

void recurrent_grad(DType dtype, const RecurrentProblem& s, const AnyRecurrentGradTensors& t, void* scratch,
                    cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    const Gradient<T> g = typed<T>(s, t, scratch);
    const unsigned blocks = blocks_striding(s.dirs * s.cells());
    for (std::int64_t n = s.seq - 1; n >= (s.initial ? -1 : 0); --n) {
      run_step<<<blocks, kThreads, 0, stream>>>(g, n);
      HEADROOM_CUDA_LAUNCHED();
      if (!s.resets_late() || n < 0) continue;
      end_gru<<<blocks, kThreads, 0, stream>>>(g, n);
      HEADROOM_CUDA_LAUNCHED();
    }
    run_products(g, stream);
  });
}

}  // namespace headroom::cuda
