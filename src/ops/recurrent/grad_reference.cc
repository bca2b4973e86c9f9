#include <algorithm>

#include "ops/recurrent/cell.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_grad_reference_cc {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// One direction, from its last step to its first: gradients of the gates' sums, then of all that made them.
template <class T>
class PlainGradient {
 public:
  PlainGradient(const RecurrentProblem& p, std::int64_t dir, const RecurrentGradTensors<T, T>& t)
      : p_(p), dir_(dir), t_(t), dh_(states(t.dy_h)), dc_(states(t.dy_c)) {}

  void run() {
    for (std::int64_t t = p_.seq; t-- > 0;)
      for (std::int64_t b = 0; b < p_.batch; ++b)
        if (const std::int64_t place = p_.place(dir_, t); t_.lengths.cover(b, place)) step(place, b);
    if (t_.dh0 != nullptr) std::copy(dh_.begin(), dh_.end(), t_.dh0 + dir_ * p_.cells());
    if (t_.dc0 != nullptr) std::copy(dc_.begin(), dc_.end(), t_.dc0 + dir_ * p_.cells());
  }

 private:
  std::vector<T> states(const T* given) const {
    if (given == nullptr) return std::vector<T>(at(p_.cells()));
    return {given + dir_ * p_.cells(), given + (dir_ + 1) * p_.cells()};
  }
  T saved(std::int64_t place, std::int64_t b, std::int64_t part, std::int64_t j) const {
    return t_.saved[(((dir_ * p_.seq + place) * p_.batch + b) * p_.saved_parts() + part) * p_.hidden + j];
  }
  T y(std::int64_t place, std::int64_t b, std::int64_t j) const {
    return t_.y[((place * p_.dirs + dir_) * p_.batch + b) * p_.hidden + j];
  }
  // States before the step at `place`.
  T h_before(std::int64_t place, std::int64_t b, std::int64_t j) const {
    const std::int64_t before = p_.before(dir_, place);
    if (t_.lengths.cover(b, before)) return y(before, b, j);
    return t_.h0 == nullptr ? T{0} : t_.h0[(dir_ * p_.batch + b) * p_.hidden + j];
  }
  T c_before(std::int64_t place, std::int64_t b, std::int64_t j) const {
    const std::int64_t before = p_.before(dir_, place);
    if (t_.lengths.cover(b, before)) return saved(before, b, 4, j);
    return t_.c0 == nullptr ? T{0} : t_.c0[(dir_ * p_.batch + b) * p_.hidden + j];
  }
  T r(std::int64_t row, std::int64_t j) const { return t_.r[(dir_ * p_.rows() + row) * p_.hidden + j]; }

  void step(std::int64_t place, std::int64_t b) {
    std::vector<T> dh(dh_.begin() + b * p_.hidden, dh_.begin() + (b + 1) * p_.hidden);
    if (t_.dy != nullptr)
      for (std::int64_t j = 0; j < p_.hidden; ++j)
        dh[at(j)] += t_.dy[((place * p_.dirs + dir_) * p_.batch + b) * p_.hidden + j];
    std::vector<T> by_input(at(p_.rows())), before(at(p_.hidden));
    std::vector<T> factor(at(p_.hidden), T{1});  // of the states that the last gate's rows of R multiply
    for (std::int64_t j = 0; j < p_.hidden; ++j)
      if (p_.kind == CellKind::lstm)
        lstm(place, b, j, dh[at(j)], by_input);
      else if (p_.kind == CellKind::rnn)
        by_input[at(j)] = p_.relu ? (y(place, b, j) > 0 ? dh[at(j)] : T{0})
                                  : recurrent::through_tanh(dh[at(j)], y(place, b, j));
    if (p_.kind == CellKind::gru) gru(place, b, dh, by_input, before, factor);

    std::vector<T> by_state = by_input;
    if (p_.kind == CellKind::gru && p_.linear_before_reset)
      for (std::int64_t j = 0; j < p_.hidden; ++j) by_state[at(2 * p_.hidden + j)] *= saved(place, b, 1, j);
    for (std::int64_t j = 0; j < p_.hidden; ++j) {
      for (std::int64_t row = 0; row < p_.rows(); ++row)
        before[at(j)] += by_state[at(row)] * r(row, j) * (row >= 2 * p_.hidden ? factor[at(j)] : T{1});
      dh_[at(b * p_.hidden + j)] = before[at(j)];
    }
    add_weights(place, b, by_input, by_state, factor);
  }

  void lstm(std::int64_t place, std::int64_t b, std::int64_t j, T dh, std::vector<T>& sums) {
    T& dc = dc_[at(b * p_.hidden + j)];
    const recurrent::LstmGates<T> gates{saved(place, b, 0, j), saved(place, b, 1, j), saved(place, b, 2, j),
                                        saved(place, b, 3, j)};
    const auto d =
        recurrent::lstm_gradient(gates, std::tanh(saved(place, b, 4, j)), c_before(place, b, j), dh, dc);
    sums[at(j)] = d.i, sums[at(p_.hidden + j)] = d.o, sums[at(2 * p_.hidden + j)] = d.f;
    sums[at(3 * p_.hidden + j)] = d.g, dc = d.c;
  }

  void gru(std::int64_t place, std::int64_t b, const std::vector<T>& dh, std::vector<T>& sums,
           std::vector<T>& before, std::vector<T>& factor) {
    const std::int64_t n = p_.hidden;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto d = recurrent::gru_gradient(saved(place, b, 0, j), saved(place, b, 2, j),
                                             h_before(place, b, j), dh[at(j)]);
      sums[at(j)] = d.z, sums[at(2 * n + j)] = d.g, before[at(j)] = d.h;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const T reset = saved(place, b, 1, j);
      T dr = 0;
      if (p_.linear_before_reset) {
        dr = sums[at(2 * n + j)] * saved(place, b, 3, j);
      } else {
        for (std::int64_t k = 0; k < n; ++k) dr += sums[at(2 * n + k)] * r(2 * n + k, j);
        dr *= h_before(place, b, j);
        factor[at(j)] = reset;
      }
      sums[at(n + j)] = recurrent::through_sigmoid(dr, reset);
    }
  }

  void add_weights(std::int64_t place, std::int64_t b, const std::vector<T>& by_input,
                   const std::vector<T>& by_state, const std::vector<T>& factor) {
    const T* x = t_.x + (place * p_.batch + b) * p_.input;
    for (std::int64_t row = 0; row < p_.rows(); ++row) {
      const std::int64_t all = dir_ * p_.rows() + row;
      for (std::int64_t k = 0; k < p_.input; ++k) {
        t_.dw[all * p_.input + k] += by_input[at(row)] * x[k];
        if (t_.dx != nullptr)
          t_.dx[(place * p_.batch + b) * p_.input + k] += by_input[at(row)] * t_.w[all * p_.input + k];
      }
      for (std::int64_t j = 0; j < p_.hidden; ++j)
        t_.dr[all * p_.hidden + j] +=
            by_state[at(row)] * h_before(place, b, j) * (row >= 2 * p_.hidden ? factor[at(j)] : T{1});
      if (t_.db == nullptr) continue;
      t_.db[2 * dir_ * p_.rows() + row] += by_input[at(row)];
      t_.db[(2 * dir_ + 1) * p_.rows() + row] += by_state[at(row)];
    }
  }

  const RecurrentProblem& p_;
  std::int64_t dir_;
  const RecurrentGradTensors<T, T>& t_;
  std::vector<T> dh_, dc_;
};

}  // namespace
}  // namespace recurrent_grad_reference_cc

Launcher recurrent_grad_reference(const Problem& problem, const LaunchContext&) {
  using namespace recurrent_grad_reference_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = recurrent_problem(problem)](const LaunchArgs& a) {
      const RecurrentGradTensors<T, T> t = recurrent_grad_tensors<T>(p, a);
      std::fill_n(t.dw, p.dirs * p.rows() * p.input, T{0});
      std::fill_n(t.dr, p.dirs * p.rows() * p.hidden, T{0});
      if (t.db != nullptr) std::fill_n(t.db, p.dirs * 2 * p.rows(), T{0});
      if (t.dx != nullptr) std::fill_n(t.dx, p.seq * p.batch * p.input, T{0});
      for (std::int64_t dir = 0; dir < p.dirs; ++dir) PlainGradient<T>(p, dir, t).run();
    };
  });
}

}  // namespace headroom
