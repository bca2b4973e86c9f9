// The inputs' products of all steps at once, then step by step those with the states, whose weights are
// packed once for all steps.

#include <algorithm>

#include "ops/cpu/gemm.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/vmath.h"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_cpu_steps_cc {
namespace {

// Elements of scratch memory: the parts of all steps, unless they are saved; both biases added up; the states
// where lengths differ; r h of a gru; the packed weights.
struct Sizes {
  std::int64_t parts, biases, states, reset, all;
};
std::int64_t parts_of(const RecurrentProblem& p) { return std::max<std::int64_t>(p.saved_parts(), 1); }
Sizes sizes_of(const RecurrentProblem& p) {
  Sizes s{.parts = p.saves ? 0 : p.seq * p.batch * parts_of(p) * p.hidden,
          .biases = p.rows(),
          .states = p.lengths ? p.cells() : 0,
          .reset = p.resets_late() ? p.cells() : 0,
          .all = 0};
  s.all = s.parts + s.biases + s.states + s.reset;
  return s;
}

// The rows of R that are multiplied with the states, and those that are multiplied apart.
struct StateRows {
  std::int64_t first, last;
};
StateRows state_rows(const RecurrentProblem& p) {
  return p.kind == CellKind::gru ? StateRows{2 * p.hidden, p.hidden} : StateRows{p.rows(), 0};
}
template <class T>
std::int64_t packed_weights(const RecurrentProblem& p) {
  const StateRows rows = state_rows(p);
  return packed_elements<T>(rows.first, p.hidden) + packed_elements<T>(rows.last, p.hidden);
}

// A row of `parts` holds what `saved` does, of one item at one place. Before its step it holds the sums over
// the inputs; the products with the states are added to them.
template <class T>
class Direction {
 public:
  Direction(const RecurrentProblem& p, std::int64_t dir, const LaunchArgs& a)
      : p_(p), dir_(dir), t_(recurrent_tensors<T>(p, a)), width_(parts_of(p) * p.hidden) {
    const Sizes s = sizes_of(p);
    auto* scratch = static_cast<T*>(a.workspace);
    parts_ = p.saves ? t_.saved + dir * p.seq * p.batch * width_ : scratch;
    biases_ = scratch + s.parts;
    states_ = biases_ + s.biases;
    reset_ = states_ + s.states;
    packed_ = reset_ + s.reset;
    packed_last_ = packed_ + packed_elements<T>(state_rows(p).first, p.hidden);
  }

  void run() {
    sum_inputs();
    pack_weights();
    const T* h = t_.h0 == nullptr ? nullptr : t_.h0 + dir_ * p_.cells();
    if (p_.lengths) h = first_states(h);
    for (std::int64_t t = 0; t < p_.seq; ++t) {
      const std::int64_t place = p_.place(dir_, t);
      T* next = t_.y + (place * p_.dirs + dir_) * p_.cells();
      step(place, h, next);
      h = p_.lengths ? states_ : next;
    }
    std::copy_n(h, p_.cells(), t_.y_h + dir_ * p_.cells());
    if (p_.kind == CellKind::lstm) write_c();
  }

 private:
  T* row(std::int64_t place, std::int64_t item) const { return parts_ + (place * p_.batch + item) * width_; }
  const T* bias(std::int64_t half) const { return p_.bias ? t_.b + (dir_ * 2 + half) * p_.rows() : nullptr; }

  // biases_: both, but for that of a state's product which is multiplied first.
  void sum_inputs() {
    gemm(false, true, p_.seq * p_.batch, p_.rows(), p_.input, T{1}, t_.x, p_.input,
         t_.w + dir_ * p_.rows() * p_.input, p_.input, T{0}, parts_, width_);
    std::fill_n(biases_, p_.rows(), T{0});
    if (!p_.bias) return;
    const bool apart = p_.kind == CellKind::gru && p_.linear_before_reset;
    for (std::int64_t k = 0; k < p_.rows(); ++k)
      biases_[k] = bias(0)[k] + (apart && k >= 2 * p_.hidden ? T{0} : bias(1)[k]);
  }

  const T* first_states(const T* h) {
    if (h == nullptr)
      std::fill_n(states_, p_.cells(), T{0});
    else
      std::copy_n(h, p_.cells(), states_);
    return states_;
  }

  // The c that the step at `place` begins with. Null: zeros.
  const T* c_before(std::int64_t place, std::int64_t item) const {
    const std::int64_t before = p_.before(dir_, place);
    if (t_.lengths.cover(item, before)) return row(before, item) + 4 * p_.hidden;
    return t_.c0 == nullptr ? nullptr : t_.c0 + dir_ * p_.cells() + item * p_.hidden;
  }

  // Y_c is the c before a step that would come after the last one.
  void write_c() {
    for (std::int64_t item = 0; item < p_.batch; ++item) {
      T* to = t_.y_c + dir_ * p_.cells() + item * p_.hidden;
      const T* c = c_before(p_.backwards(dir_) ? -1 : t_.lengths.of(item), item);
      if (c == nullptr)
        std::fill_n(to, p_.hidden, T{0});
      else
        std::copy_n(c, p_.hidden, to);
    }
  }

  void pack_weights() {
    const StateRows rows = state_rows(p_);
    const T* r = t_.r + dir_ * p_.rows() * p_.hidden;
    pack_right(true, rows.first, p_.hidden, r, p_.hidden, packed_);
    pack_right(true, rows.last, p_.hidden, r + rows.first * p_.hidden, p_.hidden, packed_last_);
  }

  // Adds h times the first rows of R, or the last ones, to the parts from `to` on of all items.
  void multiply_first(std::int64_t place, const T* h) {
    gemm_by_packed(p_.batch, state_rows(p_).first, p_.hidden, h, p_.hidden, packed_, T{1}, row(place, 0),
                   width_);
  }
  void multiply_last(std::int64_t place, const T* h, std::int64_t to, T beta) {
    gemm_by_packed(p_.batch, state_rows(p_).last, p_.hidden, h, p_.hidden, packed_last_, beta,
                   row(place, 0) + to, width_);
  }

  // body(item, its row) for all items that have the place.
  template <class Body>
  void each_item(std::int64_t place, Body&& body) {
    parallel_for(p_.batch, kElementwiseGrain / 16 / p_.hidden + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t item = begin; item < end; ++item)
                     if (t_.lengths.cover(item, place)) body(item, row(place, item));
                 });
  }

  void step(std::int64_t place, const T* h, T* next) {
    const std::int64_t n = p_.hidden;
    const bool late = p_.resets_late(), apart = p_.kind == CellKind::gru && !late;
    if (h != nullptr) multiply_first(place, h);
    if (h != nullptr && apart) multiply_last(place, h, 3 * n, 0);
    if (p_.kind == CellKind::lstm)
      each_item(place, [&](std::int64_t item, T* x) { lstm(x, c_before(place, item), next + item * n); });
    if (p_.kind == CellKind::rnn) each_item(place, [&](std::int64_t item, T* x) { rnn(x, next + item * n); });
    if (p_.kind == CellKind::gru) {
      const auto of = [&](std::int64_t item) { return h == nullptr ? nullptr : h + item * n; };
      each_item(place, [&](std::int64_t item, T* x) { begin_gru(x, of(item), reset_ + item * n); });
      if (h != nullptr && late) multiply_last(place, reset_, 2 * n, 1);
      each_item(place, [&](std::int64_t item, T* x) { end_gru(x, of(item), next + item * n); });
    }
    if (p_.lengths) end_step(place, next);
  }

  // Keeps the states of items that have the place; others are 0 there.
  void end_step(std::int64_t place, T* next) {
    for (std::int64_t item = 0; item < p_.batch; ++item) {
      T* y = next + item * p_.hidden;
      if (t_.lengths.cover(item, place)) {
        std::copy_n(y, p_.hidden, states_ + item * p_.hidden);
        continue;
      }
      std::fill_n(y, p_.hidden, T{0});
      if (p_.saves) std::fill_n(row(place, item), width_, T{0});
    }
  }

  void lstm(T* x, const T* c, T* h) const {
    const std::int64_t n = p_.hidden;
    const T* b = biases_;
    simd::each_register<T>(n, [=](auto lanes, std::int64_t k) {
      const auto sum = [&](std::int64_t gate) {
        return lanes.load(x + gate * n + k) + lanes.load(b + gate * n + k);
      };
      const recurrent::LstmGates<simd::Vec<T>> s{simd::sigmoid<T>(sum(0)), simd::sigmoid<T>(sum(1)),
                                                 simd::sigmoid<T>(sum(2)), simd::tanh<T>(sum(3))};
      const simd::Vec<T> next = recurrent::lstm_c(s, c == nullptr ? simd::Vec<T>{} : lanes.load(c + k));
      lanes.store(x + k, s.i), lanes.store(x + n + k, s.o), lanes.store(x + 2 * n + k, s.f);
      lanes.store(x + 3 * n + k, s.g), lanes.store(x + 4 * n + k, next);
      lanes.store(h + k, s.o * simd::tanh<T>(next));
    });
  }

  void rnn(const T* x, T* h) const {
    const T* b = biases_;
    const bool relu = p_.relu;
    simd::each_register<T>(p_.hidden, [=](auto lanes, std::int64_t k) {
      const simd::Vec<T> sum = lanes.load(x + k) + lanes.load(b + k), zero{};
      lanes.store(h + k, relu ? (sum < zero ? zero : sum) : simd::tanh<T>(sum));
    });
  }

  // z and r; then r h, or R h with its bias.
  void begin_gru(T* x, const T* h, T* reset) const {
    const std::int64_t n = p_.hidden;
    const bool late = p_.resets_late();
    const T *b = biases_, *product_bias = late || !p_.bias ? nullptr : bias(1) + 2 * n;
    simd::each_register<T>(n, [=](auto lanes, std::int64_t k) {
      lanes.store(x + k, simd::sigmoid<T>(lanes.load(x + k) + lanes.load(b + k)));
      const simd::Vec<T> r = simd::sigmoid<T>(lanes.load(x + n + k) + lanes.load(b + n + k)), zero{};
      lanes.store(x + n + k, r);
      if (late && h != nullptr) lanes.store(reset + k, r * lanes.load(h + k));
      if (!late)
        lanes.store(x + 3 * n + k, (h == nullptr ? zero : lanes.load(x + 3 * n + k)) +
                                       (product_bias == nullptr ? zero : lanes.load(product_bias + k)));
    });
  }

  void end_gru(T* x, const T* h, T* next) const {
    const std::int64_t n = p_.hidden;
    const bool late = p_.resets_late();
    const T* b = biases_;
    simd::each_register<T>(n, [=](auto lanes, std::int64_t k) {
      simd::Vec<T> sum = lanes.load(x + 2 * n + k) + lanes.load(b + 2 * n + k);
      if (!late) sum += lanes.load(x + n + k) * lanes.load(x + 3 * n + k);
      const simd::Vec<T> g = simd::tanh<T>(sum);
      lanes.store(x + 2 * n + k, g);
      lanes.store(next + k,
                  recurrent::gru_h(lanes.load(x + k), g, h == nullptr ? simd::Vec<T>{} : lanes.load(h + k)));
    });
  }

  const RecurrentProblem& p_;
  std::int64_t dir_;
  RecurrentTensors<T, T> t_;
  std::int64_t width_;
  T *parts_, *biases_, *states_, *reset_, *packed_, *packed_last_;
};

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = recurrent_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t dir = 0; dir < p.dirs; ++dir) Direction<T>(p, dir, a).run();
    };
  });
}

std::size_t workspace(const Problem& problem, const Target&) {
  const RecurrentProblem p = recurrent_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() {
    return static_cast<std::size_t>(sizes_of(p).all + packed_weights<T>(p)) * sizeof(T);
  });
}

// The recurrent matrix comes from memory, or a cache, at every step.
Work work(const Problem& problem, const Target& target) {
  const RecurrentProblem p = recurrent_problem(problem);
  Work work = least_work(problem, target);
  const double size = static_cast<double>(size_of(problem.outputs[0].dtype));
  work.add_bytes(size * static_cast<double>(p.dirs * (p.seq - 1) * p.rows() * p.hidden));
  work.add_bytes(2 * size * static_cast<double>(p.dirs * p.seq * p.batch * p.rows()));
  return work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype), {p.batch, p.rows(), p.hidden});
}

}  // namespace
}  // namespace recurrent_cpu_steps_cc

Kernel recurrent_cpu_steps() {
  using namespace recurrent_cpu_steps_cc;
  return {.name = "cpu:steps", .work = work, .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
