// The inputs' products of all steps at once, then step by step those with the states.

#include <algorithm>

#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace {

// Of scratch memory: sums of all steps, products with the states, the cells' c, and r h of a gru.
struct Sizes {
  std::int64_t inputs, states, cells, all;
};
Sizes sizes_of(const RecurrentProblem& p) {
  Sizes s{p.seq * p.batch * p.rows(), p.batch * p.rows(), p.cells(), 0};
  s.all = s.inputs + s.states + 2 * s.cells;
  return s;
}

template <class T>
class Direction {
 public:
  Direction(const RecurrentProblem& p, std::int64_t dir, const LaunchArgs& a)
      : p_(p),
        dir_(dir),
        a_(a),
        inputs_(static_cast<T*>(a.workspace)),
        states_(inputs_ + sizes_of(p).inputs),
        c_(states_ + sizes_of(p).states),
        reset_(c_ + p.cells()) {}

  void run() {
    sum_inputs();
    if (p_.kind == CellKind::lstm) start_c();
    const T* h = p_.initial ? a_.in<T>(p_.h0()) + dir_ * p_.cells() : nullptr;
    for (std::int64_t t = 0; t < p_.seq; ++t) {
      const std::int64_t place = p_.place(dir_, t);
      T* next = a_.out<T>(0) + (place * p_.dirs + dir_) * p_.cells();
      step(inputs_ + place * p_.batch * p_.rows(), h, next);
      h = next;
    }
    std::copy_n(h, p_.cells(), a_.out<T>(1) + dir_ * p_.cells());
    if (p_.kind == CellKind::lstm) std::copy_n(c_, p_.cells(), a_.out<T>(2) + dir_ * p_.cells());
  }

 private:
  const T* bias(std::int64_t half) const {
    return p_.bias ? a_.in<T>(3) + (dir_ * 2 + half) * p_.rows() : nullptr;
  }
  const T* r() const { return a_.in<T>(2) + dir_ * p_.rows() * p_.hidden; }

  // Both biases are in it, but for that of a state's product which is multiplied first.
  void sum_inputs() {
    const std::int64_t rows = p_.rows(), items = p_.seq * p_.batch;
    gemm(false, true, items, rows, p_.input, T{1}, a_.in<T>(0), p_.input,
         a_.in<T>(1) + dir_ * rows * p_.input, p_.input, T{0}, inputs_, rows);
    if (!p_.bias) return;
    const T *w = bias(0), *s = bias(1);
    const std::int64_t both = p_.kind == CellKind::gru && p_.linear_before_reset ? 2 * p_.hidden : rows;
    parallel_for(items, kElementwiseGrain / rows + 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t k = 0; k < rows; ++k) inputs_[i * rows + k] += w[k] + (k < both ? s[k] : T{0});
    });
  }

  void start_c() {
    if (p_.initial)
      std::copy_n(a_.in<T>(p_.h0() + 1) + dir_ * p_.cells(), p_.cells(), c_);
    else
      std::fill_n(c_, p_.cells(), T{0});
  }

  // states_[:, rows from `first`] = h times those rows of R.
  void multiply(const T* h, std::int64_t first, std::int64_t count) {
    gemm(false, true, p_.batch, count, p_.hidden, T{1}, h, p_.hidden, r() + first * p_.hidden, p_.hidden,
         T{0}, states_ + first, p_.rows());
  }

  // body(cell, sums of its inputs, products with its state): gates are `hidden` apart in either.
  template <class Body>
  void each(const T* inputs, Body&& body) {
    parallel_for(p_.cells(), kElementwiseGrain / 16, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i / p_.hidden * p_.rows() + i % p_.hidden;
        body(i, inputs + at, states_ + at);
      }
    });
  }

  void step(const T* inputs, const T* h, T* next) {
    const std::int64_t n = p_.hidden;
    const bool late = p_.kind == CellKind::gru && !p_.linear_before_reset;
    if (h == nullptr)
      std::fill_n(states_, p_.batch * p_.rows(), T{0});
    else
      multiply(h, 0, late ? 2 * n : p_.rows());
    if (p_.kind == CellKind::lstm)
      return each(inputs, [&](std::int64_t i, const T* x, const T* s) {
        const recurrent::LstmState<T> state =
            recurrent::lstm<T>({x[0] + s[0], x[n] + s[n], x[2 * n] + s[2 * n], x[3 * n] + s[3 * n]}, c_[i]);
        next[i] = state.h, c_[i] = state.c;
      });
    if (p_.kind == CellKind::rnn)
      return each(inputs, [&](std::int64_t i, const T* x, const T* s) {
        next[i] = recurrent::rnn(x[0] + s[0], p_.relu);
      });
    if (late && h != nullptr) {
      each(inputs, [&](std::int64_t i, const T* x, const T* s) {
        reset_[i] = recurrent::sigmoid(x[n] + s[n]) * h[i];
      });
      multiply(reset_, 2 * n, n);
    }
    const T* s_bias = p_.linear_before_reset ? bias(1) : nullptr;
    each(inputs, [&](std::int64_t i, const T* x, const T* s) {
      T state = s[2 * n];
      if (!late) state = recurrent::sigmoid(x[n] + s[n]) * (state + (s_bias ? s_bias[2 * n + i % n] : T{0}));
      next[i] = recurrent::gru(recurrent::sigmoid(x[0] + s[0]), x[2 * n] + state, h ? h[i] : T{0});
    });
  }

  const RecurrentProblem& p_;
  std::int64_t dir_;
  const LaunchArgs& a_;
  T *inputs_, *states_, *c_, *reset_;
};

}  // namespace

Launcher recurrent_steps(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = recurrent_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t dir = 0; dir < p.dirs; ++dir) Direction<T>(p, dir, a).run();
    };
  });
}

std::size_t recurrent_steps_workspace(const Problem& problem, const Target&) {
  return static_cast<std::size_t>(sizes_of(recurrent_problem(problem)).all) *
         size_of(problem.outputs[0].dtype);
}

// The recurrent matrix comes from memory, or a cache, at every step.
Work recurrent_steps_work(const Problem& problem, const Target& target) {
  const RecurrentProblem p = recurrent_problem(problem);
  Work work = least_work(problem, target);
  const double size = static_cast<double>(size_of(problem.outputs[0].dtype));
  work.add_bytes(size * static_cast<double>(p.dirs * (p.seq - 1) * p.rows() * p.hidden));
  work.add_bytes(2 * size * static_cast<double>(p.dirs * p.seq * p.batch * p.rows()));
  return work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype), {p.batch, p.rows(), p.hidden});
}

}  // namespace headroom
