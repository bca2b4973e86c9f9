// Forward: a launch for each step.
#include "ops/cuda/index.cuh"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/cuda.h"

namespace headroom::cuda {
namespace {

using ::headroom::recurrent::sigmoid;

template <class T>
using Tensors = RecurrentTensors<T, Compute<T>>;

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
  __device__ Step(const RecurrentProblem& s, const Tensors<T>& t, const Place& p)
      : s_(s), t_(t), p_(p), place_(s.place(p.dir, p.step)) {
    continues_ = t.lengths.cover(p.item, s.before(p.dir, place_));
  }
  __device__ bool covered() const { return t_.lengths.cover(p_.item, place_); }
  __device__ bool continues() const { return continues_; }  // not the item's first step
  __device__ bool last() const { return p_.step == s_.seq - 1; }
  // The states that the step begins with; null: zeros.
  __device__ const T* states() const {
    const std::int64_t cells = s_.cells();
    if (continues_) return t_.y + (s_.before(p_.dir, place_) * s_.dirs + p_.dir) * cells;
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
    t_.y[y_at(place_)] = narrow<T>(h);
    if (last()) t_.y_h[p_.cell] = narrow<T>(h);
  }
  // Of an item that does not have the place: zeros. After the last step, its states are those of its own end.
  __device__ void write_nothing(const C* c) const {
    t_.y[y_at(place_)] = narrow<T>(C{0});
    if (t_.saved != nullptr)
      for (int part = 0; part < s_.saved_parts(); ++part) save(part, 0);
    if (!last()) return;
    const std::int64_t length = t_.lengths.of(p_.item);
    const T zero = narrow<T>(C{0});
    t_.y_h[p_.cell] = length > 0 ? t_.y[y_at(length - 1)] : t_.h0 != nullptr ? t_.h0[p_.cell] : zero;
    if (s_.kind == CellKind::lstm)
      t_.y_c[p_.cell] = length > 0 ? narrow<T>(c[p_.cell]) : t_.c0 != nullptr ? t_.c0[p_.cell] : zero;
  }
  __device__ void save(int part, C value) const {
    if (t_.saved == nullptr) return;
    const std::int64_t item = (p_.dir * s_.seq + place_) * s_.batch + p_.item;
    t_.saved[(item * s_.saved_parts() + part) * s_.hidden + p_.unit] = value;
  }

 private:
  __device__ std::int64_t y_at(std::int64_t place) const {
    return (place * s_.dirs + p_.dir) * s_.cells() + p_.item * s_.hidden + p_.unit;
  }
  __device__ std::int64_t row(int gate) const { return (p_.dir * s_.gates + gate) * s_.hidden + p_.unit; }
  __device__ C bias(int half, int gate) const {
    if (t_.b == nullptr) return 0;
    return widen(t_.b[((p_.dir * 2 + half) * s_.gates + gate) * s_.hidden + p_.unit]);
  }

  const RecurrentProblem& s_;
  const Tensors<T>& t_;
  const Place& p_;
  std::int64_t place_;
  bool continues_;
};

__device__ inline bool is_first_lane() { return threadIdx.x % 32 == 0; }

// The first half of a gru that resets before the product: z, and r h, for all cells.
template <class T>
__device__ void begin_gru(const RecurrentProblem& s, const Step<T>& step, const Place& p,
                          Compute<T>* scratch) {
  const auto z = sigmoid(step.gate(0)), r = sigmoid(step.gate(1));
  if (!is_first_lane()) return;
  scratch[p.cell] = z;
  scratch[s.dirs * s.cells() + p.cell] = r * step.state();
  step.save(1, r);
}

template <class T>
__device__ Compute<T> end_gru(const RecurrentProblem& s, const Step<T>& step, const Place& p,
                              const Compute<T>* scratch) {
  using C = Compute<T>;
  C z = 0, sum = step.by_input(2);
  if (s.linear_before_reset) {
    const C r = sigmoid(step.gate(1)), product = step.by_states(2, step.states());
    z = sigmoid(step.gate(0));
    sum += r * product;
    if (is_first_lane()) step.save(1, r), step.save(3, product);
  } else {
    z = scratch[p.cell];
    sum += step.by_states(2, scratch + (s.dirs + p.dir) * s.cells());
  }
  const C g = tanh(sum);
  if (is_first_lane()) step.save(0, z), step.save(2, g);
  return ::headroom::recurrent::gru_h(z, g, step.state());
}

template <class T>
__device__ Compute<T> lstm(const Tensors<T>& t, const Step<T>& step, const Place& p, Compute<T>* scratch) {
  using C = Compute<T>;
  const C c = step.continues() ? scratch[p.cell] : t.c0 != nullptr ? C(widen(t.c0[p.cell])) : C{0};
  const ::headroom::recurrent::LstmGates<C> gates{sigmoid(step.gate(0)), sigmoid(step.gate(1)),
                                                  sigmoid(step.gate(2)), tanh(step.gate(3))};
  const C next = ::headroom::recurrent::lstm_c(gates, c);
  __syncwarp();  // every lane has read c
  if (is_first_lane()) {
    scratch[p.cell] = next;
    if (step.last()) t.y_c[p.cell] = narrow<T>(next);
    step.save(0, gates.i), step.save(1, gates.o), step.save(2, gates.f), step.save(3, gates.g);
    step.save(4, next);
  }
  return gates.o * tanh(next);
}

// A warp for each cell: the cells of one row of a matrix share it through the caches. Bound by reading both
// matrices once for each item of the batch from the second cache.
template <class T>
__global__ void __launch_bounds__(kThreads)
    run_step(const __grid_constant__ RecurrentProblem s, const __grid_constant__ Tensors<T> t,
             Compute<T>* scratch, std::int64_t n, bool begins) {
  const std::int64_t cells = s.cells();
  for (std::int64_t cell = thread_number() / 32; cell < s.dirs * cells; cell += thread_count() / 32) {
    const Cut dir = cut(cell, cells), unit = cut(dir.rest, s.hidden);
    const Place p{dir.whole, unit.whole, unit.rest, cell, n};
    const Step<T> step(s, t, p);
    if (!step.covered()) {
      if (!begins && is_first_lane()) step.write_nothing(scratch);
      continue;
    }
    if (begins) {
      begin_gru(s, step, p, scratch);
      continue;
    }
    const Compute<T> h = s.kind == CellKind::lstm  ? lstm(t, step, p, scratch)
                         : s.kind == CellKind::gru ? end_gru(s, step, p, scratch)
                                                   : ::headroom::recurrent::rnn(step.gate(0), s.relu);
    if (is_first_lane()) step.write(h);
  }
}

}  // namespace

void recurrent(DType dtype, const RecurrentProblem& s, const AnyRecurrentTensors& t, void* scratch,
               cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    using C = Compute<T>;
    const Tensors<T> typed{static_cast<const T*>(t.x),
                           static_cast<const T*>(t.w),
                           static_cast<const T*>(t.r),
                           static_cast<const T*>(t.b),
                           static_cast<const T*>(t.h0),
                           static_cast<const T*>(t.c0),
                           static_cast<T*>(t.y),
                           static_cast<T*>(t.y_h),
                           static_cast<T*>(t.y_c),
                           static_cast<C*>(t.saved),
                           t.lengths};
    const unsigned blocks = blocks_striding(s.dirs * s.cells() * 32);
    for (std::int64_t n = 0; n < s.seq; ++n) {
      if (s.resets_late()) {
        run_step<<<blocks, kThreads, 0, stream>>>(s, typed, static_cast<C*>(scratch), n, true);
        HEADROOM_CUDA_LAUNCHED();
      }
      run_step<<<blocks, kThreads, 0, stream>>>(s, typed, static_cast<C*>(scratch), n, false);
      HEADROOM_CUDA_LAUNCHED();
    }
  });
}

}  // namespace headroom::cuda
