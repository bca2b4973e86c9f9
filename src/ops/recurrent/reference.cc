#include "ops/recurrent/cell.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace {

// One direction, in the order of the definition: every sum from its beginning, every state by its formula.
template <class T>
class Direction {
 public:
  Direction(const RecurrentProblem& p, std::int64_t dir, const LaunchArgs& a)
      : p_(p), dir_(dir), a_(a), h_(states(p.h0())), c_(states(p.h0() + 1, p.kind == CellKind::lstm)) {}

  void run() {
    for (std::int64_t t = 0; t < p_.seq; ++t) step(p_.place(dir_, t));
    for (std::int64_t i = 0; i < p_.cells(); ++i) {
      a_.out<T>(1)[dir_ * p_.cells() + i] = h_[static_cast<std::size_t>(i)];
      if (p_.kind == CellKind::lstm) a_.out<T>(2)[dir_ * p_.cells() + i] = c_[static_cast<std::size_t>(i)];
    }
  }

 private:
  std::vector<T> states(std::size_t input, bool there = true) const {
    if (!p_.initial || !there) return std::vector<T>(static_cast<std::size_t>(p_.cells()));
    const T* from = a_.in<T>(input) + dir_ * p_.cells();
    return {from, from + p_.cells()};
  }

  // Row `row` of W times the input of a cell's item, and of R times its states; with their biases.
  T by_input(std::int64_t place, std::int64_t item, std::int64_t row) const {
    const T* x = a_.in<T>(0) + (place * p_.batch + item) * p_.input;
    const T* w = a_.in<T>(1) + (dir_ * p_.rows() + row) * p_.input;
    T sum = p_.bias ? a_.in<T>(3)[dir_ * 2 * p_.rows() + row] : T{0};
    for (std::int64_t k = 0; k < p_.input; ++k) sum += w[k] * x[k];
    return sum;
  }
  T by_state(const std::vector<T>& h, std::int64_t item, std::int64_t row) const {
    const T* r = a_.in<T>(2) + (dir_ * p_.rows() + row) * p_.hidden;
    T sum = p_.bias ? a_.in<T>(3)[(dir_ * 2 + 1) * p_.rows() + row] : T{0};
    for (std::int64_t k = 0; k < p_.hidden; ++k)
      sum += r[k] * h[static_cast<std::size_t>(item * p_.hidden + k)];
    return sum;
  }

  void step(std::int64_t place) {
    std::vector<T> next = h_, reset = h_;
    const auto each = [&](auto&& body) {
      for (std::int64_t b = 0; b < p_.batch; ++b)
        for (std::int64_t j = 0; j < p_.hidden; ++j) body(b, j, static_cast<std::size_t>(b * p_.hidden + j));
    };
    const auto gate = [&](std::int64_t b, std::int64_t j, std::int64_t g) {
      return by_input(place, b, g * p_.hidden + j) + by_state(h_, b, g * p_.hidden + j);
    };
    if (p_.kind == CellKind::lstm) {
      each([&](std::int64_t b, std::int64_t j, std::size_t i) {
        const recurrent::LstmState<T> s =
            recurrent::lstm<T>({gate(b, j, 0), gate(b, j, 1), gate(b, j, 2), gate(b, j, 3)}, c_[i]);
        next[i] = s.h, c_[i] = s.c;
      });
    } else if (p_.kind == CellKind::rnn) {
      each([&](std::int64_t b, std::int64_t j, std::size_t i) {
        next[i] = recurrent::rnn(gate(b, j, 0), p_.relu);
      });
    } else {
      each([&](std::int64_t b, std::int64_t j, std::size_t i) {
        reset[i] = recurrent::sigmoid(gate(b, j, 1)) * (p_.linear_before_reset ? T{1} : h_[i]);
      });
      each([&](std::int64_t b, std::int64_t j, std::size_t i) {
        const std::int64_t row = 2 * p_.hidden + j;
        const T state = p_.linear_before_reset ? reset[i] * by_state(h_, b, row) : by_state(reset, b, row);
        next[i] = recurrent::gru(recurrent::sigmoid(gate(b, j, 0)), by_input(place, b, row) + state, h_[i]);
      });
    }
    h_ = next;
    std::copy(h_.begin(), h_.end(), a_.out<T>(0) + (place * p_.dirs + dir_) * p_.cells());
  }

  const RecurrentProblem& p_;
  std::int64_t dir_;
  const LaunchArgs& a_;
  std::vector<T> h_, c_;
};

}  // namespace

Launcher recurrent_reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = recurrent_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t dir = 0; dir < p.dirs; ++dir) Direction<T>(p, dir, a).run();
    };
  });
}

}  // namespace headroom
