#include "ops/cuda/index.cuh"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/cuda.h"

namespace headroom::cuda {
namespace {

constexpr int kLstm = 0, kGru = 1;

template <class T>
struct Tensors {
  const T *x, *w, *r, *b, *h0, *c0;
  T *y, *y_h, *y_c;
  Compute<T>* scratch;  // lstm: c; gru: z, then r h
};

// Where a cell of one step stands.
struct Place {
  std::int64_t dir, item, unit, cell, step;  // cell: within [dirs, batch, hidden]
};

template <class T>
__device__ inline Compute<T> warp_sum(Compute<T> x) {
  for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(0xFFFFFFFFU, x, apart);
  return x;
}

// Lanes of a warp step through a row of a matrix and a vector together: both are read in order.
template <class T, class V>
__device__ inline Compute<T> dot(std::int64_t n, const T* row, const V* vector) {
  Compute<T> sum = 0;
  for (std::int64_t k = threadIdx.x % 32; k < n; k += 32) sum += widen(row[k]) * Compute<T>(widen(vector[k]));
  return sum;
}

template <class T>
class Step {
 public:
  using C = Compute<T>;
  __device__ Step(const RecurrentShape& s, const Tensors<T>& t, std::int64_t n, const Place& p)
      : s_(s), t_(t), p_(p), first_(n == 0) {
    const bool back = s.reversed || p.dir == 1;
    place_ = back ? s.seq - 1 - n : n;
    before_ = back ? place_ + 1 : place_ - 1;
  }
  // The states that the step begins with; null: zeros.
  __device__ const T* states() const {
    const std::int64_t cells = s_.batch * s_.hidden;
    if (!first_) return t_.y + (before_ * s_.dirs + p_.dir) * cells;
    return t_.h0 == nullptr ? nullptr : t_.h0 + p_.dir * cells;
  }
  __device__ C state() const {
    const T* h = states();
    return h == nullptr ? C{0} : C(widen(h[p_.item * s_.hidden + p_.unit]));
  }
  __device__ C by_input(int gate) const {
    const T* x = t_.x + (place_ * s_.batch + p_.item) * s_.input;
    const C sum = warp_sum<T>(dot(s_.input, t_.w + row(gate) * s_.input, x));
    return sum + bias(0, gate);
  }
  template <class V>
  __device__ C by_states(int gate, const V* h) const {
    const C sum = h == nullptr
                      ? C{0}
                      : warp_sum<T>(dot(s_.hidden, t_.r + row(gate) * s_.hidden, h + p_.item * s_.hidden));
    return sum + bias(1, gate);
  }
  __device__ C gate(int gate) const { return by_input(gate) + by_states(gate, states()); }
  __device__ void write(C h) const {
    t_.y[(place_ * s_.dirs + p_.dir) * s_.batch * s_.hidden + p_.item * s_.hidden + p_.unit] = narrow<T>(h);
    if (p_.step == s_.seq - 1) t_.y_h[p_.cell] = narrow<T>(h);
  }

 private:
  __device__ std::int64_t row(int gate) const { return (p_.dir * s_.gates + gate) * s_.hidden + p_.unit; }
  __device__ C bias(int half, int gate) const {
    if (t_.b == nullptr) return 0;
    return widen(t_.b[((p_.dir * 2 + half) * s_.gates + gate) * s_.hidden + p_.unit]);
  }

  const RecurrentShape& s_;
  const Tensors<T>& t_;
  const Place& p_;
  bool first_;
  std::int64_t place_, before_;
};

// The first half of a gru that resets before the product: z, and r h, for all cells.
template <class T>
__device__ void begin_gru(const RecurrentShape& s, const Tensors<T>& t, const Step<T>& step, const Place& p) {
  const auto z = ::headroom::recurrent::sigmoid(step.gate(0)),
             r = ::headroom::recurrent::sigmoid(step.gate(1));
  if (threadIdx.x % 32 != 0) return;
  t.scratch[p.cell] = z;
  t.scratch[s.dirs * s.batch * s.hidden + p.cell] = r * step.state();
}

template <class T>
__device__ Compute<T> end_gru(const RecurrentShape& s, const Tensors<T>& t, const Step<T>& step,
                              const Place& p) {
  using C = Compute<T>;
  if (s.linear_before_reset) {
    const C z = ::headroom::recurrent::sigmoid(step.gate(0)),
            r = ::headroom::recurrent::sigmoid(step.gate(1));
    return ::headroom::recurrent::gru(z, step.by_input(2) + r * step.by_states(2, step.states()),
                                      step.state());
  }
  const C* reset = t.scratch + s.dirs * s.batch * s.hidden + p.dir * s.batch * s.hidden;
  return ::headroom::recurrent::gru(t.scratch[p.cell], step.by_input(2) + step.by_states(2, reset),
                                    step.state());
}

template <class T>
__device__ Compute<T> lstm(const Tensors<T>& t, const Step<T>& step, const Place& p, bool last) {
  using C = Compute<T>;
  const C c = p.step > 0 ? t.scratch[p.cell] : t.c0 != nullptr ? C(widen(t.c0[p.cell])) : C{0};
  const C i = step.gate(0), o = step.gate(1), f = step.gate(2), g = step.gate(3);
  const auto state = ::headroom::recurrent::lstm<C>({i, o, f, g}, c);
  __syncwarp();  // every lane has read c
  if (threadIdx.x % 32 == 0) {
    t.scratch[p.cell] = state.c;
    if (last) t.y_c[p.cell] = narrow<T>(state.c);
  }
  return state.h;
}

// A warp for each cell: the cells of one row of a matrix share it through the caches. Bound by reading both
// matrices once for each item of the batch from the second cache.
template <class T>
__global__ void __launch_bounds__(kThreads)
    run_step(const __grid_constant__ RecurrentShape s, const __grid_constant__ Tensors<T> t, std::int64_t n,
             bool begins) {
  const std::int64_t cells = s.batch * s.hidden;
  for (std::int64_t cell = thread_number() / 32; cell < s.dirs * cells; cell += thread_count() / 32) {
    const Cut dir = cut(cell, cells), unit = cut(dir.rest, s.hidden);
    const Place p{dir.whole, unit.whole, unit.rest, cell, n};
    const Step<T> step(s, t, n, p);
    if (begins) {
      begin_gru(s, t, step, p);
      continue;
    }
    const Compute<T> h = s.kind == kLstm  ? lstm(t, step, p, n == s.seq - 1)
                         : s.kind == kGru ? end_gru(s, t, step, p)
                                          : ::headroom::recurrent::rnn(step.gate(0), s.relu);
    if (threadIdx.x % 32 == 0) step.write(h);
  }
}

}  // namespace

void recurrent(DType dtype, const RecurrentShape& s, const RecurrentTensors& t, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    const Tensors<T> typed{static_cast<const T*>(t.x),  static_cast<const T*>(t.w),
                           static_cast<const T*>(t.r),  static_cast<const T*>(t.b),
                           static_cast<const T*>(t.h0), static_cast<const T*>(t.c0),
                           static_cast<T*>(t.y),        static_cast<T*>(t.y_h),
                           static_cast<T*>(t.y_c),      static_cast<Compute<T>*>(t.scratch)};
    const unsigned blocks = blocks_striding(s.dirs * s.batch * s.hidden * 32);
    for (std::int64_t n = 0; n < s.seq; ++n) {
      if (s.kind == kGru && !s.linear_before_reset) {
        run_step<<<blocks, kThreads, 0, stream>>>(s, typed, n, true);
        HEADROOM_CUDA_LAUNCHED();
      }
      run_step<<<blocks, kThreads, 0, stream>>>(s, typed, n, false);
      HEADROOM_CUDA_LAUNCHED();
    }
  });
}

}  // namespace headroom::cuda
