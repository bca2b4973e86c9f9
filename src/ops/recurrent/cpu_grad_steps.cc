// Step by step, from the last one, the gradients of the gates' sums, by weights that are packed once; then
// the weights' and the inputs' of all steps at once.
#include <algorithm>

#include "ops/cpu/gemm.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/vmath.h"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_cpu_grad_steps_cc {
namespace {

// Elements of scratch memory: gradients of all sums; states before every step; gradients of h and c between
// two steps; of a gru's r h, or, with linear_before_reset, of its candidates' sums. Then the packed weights.
struct Sizes {
  std::int64_t sums, states, carried, gru, all;
};
Sizes sizes_of(const RecurrentProblem& p) {
  const std::int64_t items = p.seq * p.batch;
  Sizes s{items * p.rows(), items * p.hidden, p.cells(), 0, 0};
  if (p.kind == CellKind::gru) s.gru = p.resets_late() ? p.cells() : items * p.hidden;
  s.all = s.sums + s.states + 2 * s.carried + s.gru;
  return s;
}

// The gates whose gradients are multiplied with R once all are there; the others, of a gru, before.
std::int64_t last_rows(const RecurrentProblem& p) { return p.resets_late() ? 2 * p.hidden : p.rows(); }

template <class T>
class GradientDirection {
 public:
  GradientDirection(const RecurrentProblem& p, std::int64_t dir, const RecurrentGradTensors<T, T>& t,
                    T* scratch)
      : p_(p), dir_(dir), t_(t) {
    const Sizes s = sizes_of(p);
    sums_ = scratch;
    states_ = sums_ + s.sums;
    dh_ = states_ + s.states;
    dc_ = dh_ + s.carried;
    gru_ = dc_ + s.carried;
    packed_ = scratch + s.all;
    packed_reset_ = packed_ + packed_elements<T>(p.hidden, last_rows(p));
  }

  void run() {
    gather_states();
    start(t_.dy_h, dh_);
    start(t_.dy_c, dc_);
    pack_right(false, p_.hidden, last_rows(p_), r(0), p_.hidden, packed_);
    pack_right(false, p_.hidden, p_.rows() - last_rows(p_), r(last_rows(p_)), p_.hidden, packed_reset_);
    for (std::int64_t t = p_.seq; t-- > 0;) step(p_.place(dir_, t), t == 0);
    if (t_.dh0 != nullptr) std::copy_n(dh_, p_.cells(), t_.dh0 + dir_ * p_.cells());
    if (t_.dc0 != nullptr) std::copy_n(dc_, p_.cells(), t_.dc0 + dir_ * p_.cells());
    weights_of_states();
    if (p_.kind == CellKind::gru && !p_.resets_late()) take_candidates();
    weights_of_inputs();
  }

 private:
  std::int64_t items() const { return p_.seq * p_.batch; }
  T* sums(std::int64_t place, std::int64_t item) const {
    return sums_ + (place * p_.batch + item) * p_.rows();
  }
  const T* saved(std::int64_t place, std::int64_t item) const {
    return t_.saved + ((dir_ * p_.seq + place) * p_.batch + item) * p_.saved_parts() * p_.hidden;
  }
  std::int64_t in_y(std::int64_t place, std::int64_t item) const {
    return ((place * p_.dirs + dir_) * p_.batch + item) * p_.hidden;
  }
  const T* r(std::int64_t row) const { return t_.r + (dir_ * p_.rows() + row) * p_.hidden; }

  void start(const T* given, T* to) {
    if (given == nullptr)
      std::fill_n(to, p_.cells(), T{0});
    else
      std::copy_n(given + dir_ * p_.cells(), p_.cells(), to);
  }

  // states_: h before each step, at its place.
  void gather_states() {
    parallel_for(items(), kElementwiseGrain / p_.hidden + 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t item = i % p_.batch, before = p_.before(dir_, i / p_.batch);
        T* to = states_ + i * p_.hidden;
        if (t_.lengths.cover(item, before))
          std::copy_n(t_.y + in_y(before, item), p_.hidden, to);
        else if (t_.h0 != nullptr)
          std::copy_n(t_.h0 + dir_ * p_.cells() + item * p_.hidden, p_.hidden, to);
        else
          std::fill_n(to, p_.hidden, T{0});
      }
    });
  }

  // body(item) for all items that have the place; the sums of the others count for nothing.
  template <class Body>
  void each_item(std::int64_t place, Body&& body) {
    parallel_for(p_.batch, kElementwiseGrain / 16 / p_.hidden + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t item = begin; item < end; ++item)
                     if (t_.lengths.cover(item, place))
                       body(item);
                     else
                       std::fill_n(sums(place, item), p_.rows(), T{0});
                 });
  }

  // to = beta to + the gradients of gates `first` … times their rows of R.
  void multiply(std::int64_t place, std::int64_t first, std::int64_t count, const T* rows, T beta, T* to) {
    gemm_by_packed(p_.batch, p_.hidden, count, sums(place, 0) + first, p_.rows(), rows, beta, to, p_.hidden);
  }

  void step(std::int64_t place, bool first) {
    const std::int64_t n = p_.hidden;
    if (p_.kind == CellKind::lstm) each_item(place, [&](std::int64_t item) { lstm(place, item); });
    if (p_.kind == CellKind::rnn) each_item(place, [&](std::int64_t item) { rnn(place, item); });
    if (p_.kind == CellKind::gru) each_item(place, [&](std::int64_t item) { gru(place, item); });
    if (p_.resets_late()) {
      multiply(place, 2 * n, n, packed_reset_, 0, gru_);
      each_item_late(place);
    }
    if (first && t_.dh0 == nullptr) return;
    multiply(place, 0, last_rows(p_), packed_, 1, dh_);
  }

  // Of the item's h after the step, whose gradient from the steps after it is in dh_.
  auto dh_of(std::int64_t place, std::int64_t item) const {
    const T *carried = dh_ + item * p_.hidden, *dy = t_.dy == nullptr ? nullptr : t_.dy + in_y(place, item);
    return [=](auto lanes, std::int64_t k) {
      const simd::Vec<T> later = lanes.load(carried + k);
      return dy == nullptr ? later : later + lanes.load(dy + k);
    };
  }

  const T* c_before(std::int64_t place, std::int64_t item) const {
    const std::int64_t before = p_.before(dir_, place);
    if (t_.lengths.cover(item, before)) return saved(before, item) + 4 * p_.hidden;
    return t_.c0 == nullptr ? nullptr : t_.c0 + dir_ * p_.cells() + item * p_.hidden;
  }

  void lstm(std::int64_t place, std::int64_t item) const {
    const std::int64_t n = p_.hidden;
    const T *s = saved(place, item), *before = c_before(place, item);
    T *d = sums(place, item), *dh = dh_ + item * n, *dc = dc_ + item * n;
    simd::each_register<T>(n, [=, dh_at = dh_of(place, item)](auto lanes, std::int64_t k) {
      const recurrent::LstmGates<simd::Vec<T>> gates{lanes.load(s + k), lanes.load(s + n + k),
                                                     lanes.load(s + 2 * n + k), lanes.load(s + 3 * n + k)};
      const auto g = recurrent::lstm_gradient<simd::Vec<T>>(
          gates, simd::tanh<T>(lanes.load(s + 4 * n + k)),
          before == nullptr ? simd::Vec<T>{} : lanes.load(before + k), dh_at(lanes, k), lanes.load(dc + k));
      lanes.store(d + k, g.i), lanes.store(d + n + k, g.o), lanes.store(d + 2 * n + k, g.f);
      lanes.store(d + 3 * n + k, g.g), lanes.store(dc + k, g.c);
      lanes.store(dh + k, simd::Vec<T>{});
    });
  }

  void rnn(std::int64_t place, std::int64_t item) const {
    const T* y = t_.y + in_y(place, item);
    T *d = sums(place, item), *dh = dh_ + item * p_.hidden;
    const bool relu = p_.relu;
    simd::each_register<T>(p_.hidden, [=, dh_at = dh_of(place, item)](auto lanes, std::int64_t k) {
      const simd::Vec<T> dy = dh_at(lanes, k), value = lanes.load(y + k), zero{};
      lanes.store(d + k, relu ? (value > zero ? dy : zero) : recurrent::through_tanh(dy, value));
      lanes.store(dh + k, zero);
    });
  }

  // With linear_before_reset all three gates; the last one's as R h has it, and as the inputs have it in
  // gru_.
  void gru(std::int64_t place, std::int64_t item) const {
    const std::int64_t n = p_.hidden;
    const bool late = p_.resets_late();
    const T *s = saved(place, item), *h = states_ + (place * p_.batch + item) * n;
    T *d = sums(place, item), *dh = dh_ + item * n, *candidates = gru_ + (place * p_.batch + item) * n;
    simd::each_register<T>(n, [=, dh_at = dh_of(place, item)](auto lanes, std::int64_t k) {
      const auto g = recurrent::gru_gradient<simd::Vec<T>>(lanes.load(s + k), lanes.load(s + 2 * n + k),
                                                           lanes.load(h + k), dh_at(lanes, k));
      lanes.store(d + k, g.z), lanes.store(dh + k, g.h);
      if (late) return lanes.store(d + 2 * n + k, g.g);
      const simd::Vec<T> reset = lanes.load(s + n + k);
      lanes.store(d + n + k,
                  recurrent::through_sigmoid<simd::Vec<T>>(g.g * lanes.load(s + 3 * n + k), reset));
      lanes.store(d + 2 * n + k, g.g * reset), lanes.store(candidates + k, g.g);
    });
  }

  // The reset gate of a gru that multiplies after it: gru_ holds the gradient of r h.
  void each_item_late(std::int64_t place) {
    const std::int64_t n = p_.hidden;
    each_item(place, [&](std::int64_t item) {
      const T *reset = saved(place, item) + n, *h = states_ + (place * p_.batch + item) * n,
              *product = gru_ + item * n;
      T *d = sums(place, item) + n, *dh = dh_ + item * n;
      simd::each_register<T>(n, [=](auto lanes, std::int64_t k) {
        const simd::Vec<T> dp = lanes.load(product + k), rate = lanes.load(reset + k);
        lanes.store(d + k, recurrent::through_sigmoid<simd::Vec<T>>(dp * lanes.load(h + k), rate));
        lanes.store(dh + k, lanes.load(dh + k) + dp * rate);
      });
    });
  }

  // dw = the gradients of `rows` gates' sums, from `first` on, times `factor` [items, columns].
  void weights(std::int64_t first, std::int64_t rows, const T* factor, std::int64_t columns, T* dw) const {
    gemm(true, false, rows, columns, items(), T{1}, sums_ + first, p_.rows(), factor, columns, T{0}, dw,
         columns);
  }

  void weights_of_states() {
    const std::int64_t n = p_.hidden, rows = p_.rows();
    T* dr = t_.dr + dir_ * rows * n;
    weights(0, last_rows(p_), states_, n, dr);
    if (p_.resets_late()) {
      reset_states();
      weights(2 * n, n, states_, n, dr + 2 * n * n);
    }
    if (t_.db != nullptr) add_up(t_.db + (2 * dir_ + 1) * rows);
  }

  // states_ = r h
  void reset_states() {
    parallel_for(items(), kElementwiseGrain / p_.hidden + 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* reset = saved(i / p_.batch, i % p_.batch) + p_.hidden;
        for (std::int64_t k = 0; k < p_.hidden; ++k) states_[i * p_.hidden + k] *= reset[k];
      }
    });
  }

  // From here on the candidates' sums are as the inputs have them.
  void take_candidates() {
    parallel_for(items(), kElementwiseGrain / p_.hidden + 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        if (t_.lengths.cover(i % p_.batch, i / p_.batch))
          std::copy_n(gru_ + i * p_.hidden, p_.hidden, sums_ + i * p_.rows() + 2 * p_.hidden);
    });
  }

  void weights_of_inputs() {
    const std::int64_t rows = p_.rows(), of_dir = dir_ * rows * p_.input;
    weights(0, rows, t_.x, p_.input, t_.dw + of_dir);
    if (t_.dx != nullptr)
      gemm(false, false, items(), p_.input, rows, T{1}, sums_, rows, t_.w + of_dir, p_.input,
           static_cast<T>(dir_), t_.dx, p_.input);
    if (t_.db != nullptr) add_up(t_.db + 2 * dir_ * rows);
  }

  // Sums of the columns of sums_. A thread has some of the columns, so their bits do not depend on threads.
  void add_up(T* to) const {
    parallel_for(p_.rows(), kElementwiseGrain / items() + 1, [&](std::int64_t begin, std::int64_t end, int) {
      std::fill(to + begin, to + end, T{0});
      for (std::int64_t i = 0; i < items(); ++i)
        for (std::int64_t k = begin; k < end; ++k) to[k] += sums_[i * p_.rows() + k];
    });
  }

  const RecurrentProblem& p_;
  std::int64_t dir_;
  const RecurrentGradTensors<T, T>& t_;
  T *sums_, *states_, *dh_, *dc_, *gru_, *packed_, *packed_reset_;
};

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = recurrent_problem(problem)](const LaunchArgs& a) {
      const RecurrentGradTensors<T, T> t = recurrent_grad_tensors<T>(p, a);
      for (std::int64_t dir = 0; dir < p.dirs; ++dir)
        GradientDirection<T>(p, dir, t, static_cast<T*>(a.workspace)).run();
    };
  });
}

std::size_t workspace(const Problem& problem, const Target&) {
  const RecurrentProblem p = recurrent_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() {
    return static_cast<std::size_t>(sizes_of(p).all + packed_elements<T>(p.hidden, p.rows())) * sizeof(T);
  });
}

// Every step reads the recurrent matrix. The sums' gradients are written once; each product reads them.
Work work(const Problem& problem, const Target& target) {
  const RecurrentProblem p = recurrent_problem(problem);
  Work work = least_work(problem, target);
  const double size = static_cast<double>(size_of(problem.outputs[0].dtype));
  work.add_bytes(size * static_cast<double>(p.dirs * (p.seq - 1) * p.rows() * p.hidden));
  work.add_bytes(5 * size * static_cast<double>(p.dirs * p.seq * p.batch * p.rows()));
  return work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype), {p.batch, p.hidden, p.rows()});
}

}  // namespace
}  // namespace recurrent_cpu_grad_steps_cc

Kernel recurrent_grad_cpu_steps() {
  using namespace recurrent_cpu_grad_steps_cc;
  return {.name = "cpu:steps", .work = work, .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
