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
struct CellPlace {
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

// What a launch carries to the next one, in the type that is computed in: h twice, because cells still read
// the old one, and c of an lstm, or z and r h of a gru. All are [dirs, batch, hidden].
template <class C>
struct Scratch {
  C *h[2], *more;

  static Scratch at(void* memory, const RecurrentProblem& s) {
    auto* first = static_cast<C*>(memory);
    const std::int64_t cells = s.dirs * s.cells();
    return {{first, first + cells}, first + 2 * cells};
  }
};

template <class T>
class Step {
 public:
  using C = Compute<T>;
  __device__ Step(const RecurrentProblem& s, const Tensors<T>& t, const Scratch<C>& scratch,
                  const CellPlace& p)
      : s_(s),
        t_(t),
        p_(p),
        place_(s.place(p.dir, p.step)),
        before_(scratch.h[p.step % 2]),
        after_(scratch.h[(p.step + 1) % 2]) {}
  __device__ bool covered() const { return t_.lengths.cover(p_.item, place_); }
  __device__ bool last() const { return p_.step == s_.seq - 1; }
  __device__ const C* states() const { return before_ + p_.dir * s_.cells(); }
  __device__ C state() const { return before_[p_.cell]; }
  __device__ C by_input(int gate) const {
    const T* x = t_.x + (place_ * s_.batch + p_.item) * s_.input;
    const C sum = warp_sum<T>(dot(s_.input, t_.w + row(gate) * s_.input, x));
    return sum + bias(0, gate);
  }
  __device__ C by_states(int gate, const C* h) const {
    const C sum = warp_sum<T>(dot(s_.hidden, t_.r + row(gate) * s_.hidden, h + p_.item * s_.hidden));
    return sum + bias(1, gate);
  }
  __device__ C gate(int gate) const { return by_input(gate) + by_states(gate, states()); }
  __device__ void write(C h) const {
    t_.y[y_at()] = narrow<T>(h);
    carry(h);
  }
  // Of an item that does not have the place: zeros. Its states stay as they are.
  __device__ void write_nothing() const {
    t_.y[y_at()] = narrow<T>(C{0});
    if (t_.saved != nullptr)
      for (int part = 0; part < s_.saved_parts(); ++part) save(part, 0);
    carry(state());
  }
  __device__ void save(int part, C value) const {
    if (t_.saved == nullptr) return;
    const std::int64_t item = (p_.dir * s_.seq + place_) * s_.batch + p_.item;
    t_.saved[(item * s_.saved_parts() + part) * s_.hidden + p_.unit] = value;
  }

 private:
  __device__ void carry(C h) const {
    after_[p_.cell] = h;
    if (last()) t_.y_h[p_.cell] = narrow<T>(h);
  }
  __device__ std::int64_t y_at() const {
    return (place_ * s_.dirs + p_.dir) * s_.cells() + p_.item * s_.hidden + p_.unit;
  }
  __device__ std::int64_t row(int gate) const { return (p_.dir * s_.gates + gate) * s_.hidden + p_.unit; }
  __device__ C bias(int half, int gate) const {
    if (t_.b == nullptr) return 0;
    return widen(t_.b[((p_.dir * 2 + half) * s_.gates + gate) * s_.hidden + p_.unit]);
  }

  const RecurrentProblem& s_;
  const Tensors<T>& t_;
  const CellPlace& p_;
  std::int64_t place_;
  const C* before_;
  C* after_;
};

__device__ inline bool is_first_lane() { return threadIdx.x % 32 == 0; }

// The states before the first step.
template <class T>
__global__ void __launch_bounds__(kThreads)
    begin(const __grid_constant__ RecurrentProblem s, const __grid_constant__ Tensors<T> t,
          Scratch<Compute<T>> scratch) {
  using C = Compute<T>;
  for (std::int64_t cell = thread_number(); cell < s.dirs * s.cells(); cell += thread_count()) {
    scratch.h[0][cell] = t.h0 == nullptr ? C{0} : C(widen(t.h0[cell]));
    if (s.kind == CellKind::lstm) scratch.more[cell] = t.c0 == nullptr ? C{0} : C(widen(t.c0[cell]));
  }
}

// The first half of a gru that resets before the product: z, and r h, for all cells.
template <class T>
__device__ void begin_gru(const RecurrentProblem& s, const Step<T>& step, const CellPlace& p,
                          Compute<T>* more) {
  const auto z = sigmoid(step.gate(0)), r = sigmoid(step.gate(1));
  if (!is_first_lane()) return;
  more[p.cell] = z;
  more[s.dirs * s.cells() + p.cell] = r * step.state();
  step.save(1, r);
}

template <class T>
__device__ Compute<T> end_gru(const RecurrentProblem& s, const Step<T>& step, const CellPlace& p,
                              const Compute<T>* more) {
  using C = Compute<T>;
  C z = 0, sum = step.by_input(2);
  if (s.linear_before_reset) {
    const C r = sigmoid(step.gate(1)), product = step.by_states(2, step.states());
    z = sigmoid(step.gate(0));
    sum += r * product;
    if (is_first_lane()) step.save(1, r), step.save(3, product);
  } else {
    z = more[p.cell];
    sum += step.by_states(2, more + (s.dirs + p.dir) * s.cells());
  }
  const C g = tanh(sum);
  if (is_first_lane()) step.save(0, z), step.save(2, g);
  return ::headroom::recurrent::gru_h(z, g, step.state());
}

template <class T>
__device__ Compute<T> lstm(const Step<T>& step, Compute<T>& c) {
  using C = Compute<T>;
  const ::headroom::recurrent::LstmGates<C> gates{sigmoid(step.gate(0)), sigmoid(step.gate(1)),
                                                  sigmoid(step.gate(2)), tanh(step.gate(3))};
  const C next = ::headroom::recurrent::lstm_c(gates, c);
  __syncwarp();  // every lane has read c
  if (is_first_lane()) {
    c = next;
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
             const __grid_constant__ Scratch<Compute<T>> scratch, std::int64_t n, bool begins) {
  const std::int64_t cells = s.cells();
  for (std::int64_t cell = thread_number() / 32; cell < s.dirs * cells; cell += thread_count() / 32) {
    const Cut dir = cut(cell, cells), unit = cut(dir.rest, s.hidden);
    const CellPlace p{dir.whole, unit.whole, unit.rest, cell, n};
    const Step<T> step(s, t, scratch, p);
    const bool covered = step.covered();
    if (begins) {
      if (covered) begin_gru(s, step, p, scratch.more);
      continue;
    }
    if (covered) {
      const Compute<T> h = s.kind == CellKind::lstm  ? lstm(step, scratch.more[cell])
                           : s.kind == CellKind::gru ? end_gru(s, step, p, scratch.more)
                                                     : ::headroom::recurrent::rnn(step.gate(0), s.relu);
      if (is_first_lane()) step.write(h);
    } else if (is_first_lane()) {
      step.write_nothing();
    }
    if (is_first_lane() && s.kind == CellKind::lstm && step.last())
      t.y_c[cell] = narrow<T>(scratch.more[cell]);
  }
}

}  // namespace

void recurrent(DType dtype, const RecurrentProblem& s, const AnyRecurrentTensors& t, void* memory,
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
    const auto scratch = Scratch<C>::at(memory, s);
    begin<T><<<blocks_striding(s.dirs * s.cells()), kThreads, 0, stream>>>(s, typed, scratch);
    HEADROOM_CUDA_LAUNCHED();
    const unsigned blocks = blocks_striding(s.dirs * s.cells() * 32);
    for (std::int64_t n = 0; n < s.seq; ++n)
      for (const bool begins : {true, false}) {
        if (begins && !s.resets_late()) continue;
        run_step<T><<<blocks, kThreads, 0, stream>>>(s, typed, scratch, n, begins);
        HEADROOM_CUDA_LAUNCHED();
      }
  });
}

}  // namespace headroom::cuda
