#include "ops/recurrent/cell.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_reference_cc {
namespace {

// One direction, in the order of the definition: every sum from its beginning, every state by its formula.
template <class T>
class PlainDirection {
 public:
  PlainDirection(const RecurrentProblem& p, std::int64_t dir, const LaunchArgs& a)
      : p_(p), dir_(dir), t_(recurrent_tensors<T>(p, a)), h_(states(t_.h0)), c_(states(t_.c0)) {}

  void run() {
    for (std::int64_t t = 0; t < p_.seq; ++t) step(p_.place(dir_, t));
    for (std::int64_t i = 0; i < p_.cells(); ++i) {
      t_.y_h[dir_ * p_.cells() + i] = h_[static_cast<std::size_t>(i)];
      if (p_.kind == CellKind::lstm) t_.y_c[dir_ * p_.cells() + i] = c_[static_cast<std::size_t>(i)];
    }
  }

 private:
  std::vector<T> states(const T* first) const {
    if (first == nullptr) return std::vector<T>(static_cast<std::size_t>(p_.cells()));
    return {first + dir_ * p_.cells(), first + (dir_ + 1) * p_.cells()};
  }

  // Row `row` of W times the input of a cell's item, and of R times its states; with their biases.
  T by_input(std::int64_t place, std::int64_t item, std::int64_t row) const {
    const T* x = t_.x + (place * p_.batch + item) * p_.input;
    const T* w = t_.w + (dir_ * p_.rows() + row) * p_.input;
    T sum = p_.bias ? t_.b[dir_ * 2 * p_.rows() + row] : T{0};
    for (std::int64_t k = 0; k < p_.input; ++k) sum += w[k] * x[k];
    return sum;
  }
  T by_state(const std::vector<T>& h, std::int64_t item, std::int64_t row) const {
    const T* r = t_.r + (dir_ * p_.rows() + row) * p_.hidden;
    T sum = p_.bias ? t_.b[(dir_ * 2 + 1) * p_.rows() + row] : T{0};
    for (std::int64_t k = 0; k < p_.hidden; ++k)
      sum += r[k] * h[static_cast<std::size_t>(item * p_.hidden + k)];
    return sum;
  }

  void save(std::int64_t place, std::int64_t b, std::int64_t j, const std::vector<T>& values) {
    if (t_.saved == nullptr) return;
    T* to = t_.saved + ((dir_ * p_.seq + place) * p_.batch + b) * p_.saved_parts() * p_.hidden + j;
    for (const T value : values) *to = value, to += p_.hidden;
  }

  void step(std::int64_t place) {
    std::vector<T> next = h_, reset = h_;
    const auto each = [&](auto&& body) {
      for (std::int64_t b = 0; b < p_.batch; ++b)
        for (std::int64_t j = 0; t_.lengths.cover(b, place) && j < p_.hidden; ++j)
          body(b, j, static_cast<std::size_t>(b * p_.hidden + j));
    };
    const auto gate = [&](std::int64_t b, std::int64_t j, std::int64_t g) {
      return by_input(place, b, g * p_.hidden + j) + by_state(h_, b, g * p_.hidden + j);
    };
    if (p_.kind == CellKind::lstm) {
      each([&](std::int64_t b, std::int64_t j, std::size_t i) {
        const recurrent::LstmGates<T> s{recurrent::sigmoid(gate(b, j, 0)), recurrent::sigmoid(gate(b, j, 1)),
                                        recurrent::sigmoid(gate(b, j, 2)), std::tanh(gate(b, j, 3))};
        c_[i] = recurrent::lstm_c(s, c_[i]);
        next[i] = s.o * std::tanh(c_[i]);
        save(place, b, j, {s.i, s.o, s.f, s.g, c_[i]});
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
        const T product = by_state(p_.linear_before_reset ? h_ : reset, b, row);
        const T state = p_.linear_before_reset ? reset[i] * product : product;
        const T z = recurrent::sigmoid(gate(b, j, 0)), g = std::tanh(by_input(place, b, row) + state);
        next[i] = recurrent::gru_h(z, g, h_[i]);
        if (p_.linear_before_reset)
          save(place, b, j, {z, reset[i], g, product});
        else
          save(place, b, j, {z, recurrent::sigmoid(gate(b, j, 1)), g});
      });
    }
    h_ = next;
    write(place);
  }

  // Zeros at places that an item does not have.
  void write(std::int64_t place) {
    T* y = t_.y + (place * p_.dirs + dir_) * p_.cells();
    for (std::int64_t b = 0; b < p_.batch; ++b) {
      const bool covered = t_.lengths.cover(b, place);
      for (std::int64_t j = 0; j < p_.hidden; ++j) {
        const std::int64_t i = b * p_.hidden + j;
        y[i] = covered ? h_[static_cast<std::size_t>(i)] : T{0};
        if (!covered) save(place, b, j, std::vector<T>(static_cast<std::size_t>(p_.saved_parts())));
      }
    }
  }

  const RecurrentProblem& p_;
  std::int64_t dir_;
  RecurrentTensors<T, T> t_;
  std::vector<T> h_, c_;
};

}  // namespace
}  // namespace recurrent_reference_cc

Launcher recurrent_reference(const Problem& problem, const LaunchContext&) {
  using namespace recurrent_reference_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = recurrent_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t dir = 0; dir < p.dirs; ++dir) PlainDirection<T>(p, dir, a).run();
    };
  });
}

}  // namespace headroom
