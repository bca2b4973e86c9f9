#include <cmath>

#include "ops/local_contrast_norm/local_contrast_norm.h"

namespace headroom {
namespace local_contrast_norm_reference_cc {
namespace {

using Plane = std::vector<double>;

// One image, pixel by pixel as defined: every window is added up over its two axes.
class PlainImage {
 public:
  template <class T>
  PlainImage(const ContrastProblem& p, const T* x) : p_(p), v_(x, x + p.channels * p.pixels()) {
    weights_ = contrast_weights(p.reach);
    mean_ = window([&](std::int64_t c, std::int64_t q) { return v_[at(c, q)]; });
    for (std::int64_t c = 0; c < p.channels; ++c)
      for (std::int64_t q = 0; q < p.pixels(); ++q) v_[at(c, q)] -= mean_[size(q)];
    deviation_ = window([&](std::int64_t c, std::int64_t q) { return v_[at(c, q)] * v_[at(c, q)]; });
    for (double& s : deviation_) s = std::sqrt(s), mean_deviation_ += s / double(p.pixels());
  }

  double divisor(std::int64_t q) const {
    const double s = deviation_[size(q)];
    return s > mean_deviation_ ? s : mean_deviation_;
  }
  double y(std::int64_t c, std::int64_t q) const { return divisor(q) == 0 ? 0 : v_[at(c, q)] / divisor(q); }

  // From the definition's last line to its first.
  Plane gradient(const Plane& dy) const {
    Plane dv(v_.size()), ds(size(p_.pixels()));
    double of_mean = 0;
    for (std::int64_t q = 0; q < p_.pixels(); ++q) {
      double dd = 0;
      for (std::int64_t c = 0; c < p_.channels && divisor(q) != 0; ++c) {
        dv[at(c, q)] = dy[at(c, q)] / divisor(q);
        dd -= dy[at(c, q)] * y(c, q) / divisor(q);
      }
      (deviation_[size(q)] > mean_deviation_ ? ds[size(q)] : of_mean) += dd;
    }
    for (std::int64_t q = 0; q < p_.pixels(); ++q) {
      const double all = ds[size(q)] + of_mean / double(p_.pixels()), s = deviation_[size(q)];
      const double du = s == 0 ? 0 : all / (2 * s);
      each_neighbour(q, [&](std::int64_t from, double weight) {
        for (std::int64_t c = 0; c < p_.channels; ++c) dv[at(c, from)] += 2 * v_[at(c, from)] * weight * du;
      });
    }
    Plane dx = dv;
    for (std::int64_t q = 0; q < p_.pixels(); ++q) {
      double sum = 0;
      for (std::int64_t c = 0; c < p_.channels; ++c) sum += dv[at(c, q)];
      each_neighbour(q, [&](std::int64_t from, double weight) {
        for (std::int64_t c = 0; c < p_.channels; ++c) dx[at(c, from)] -= weight * sum;
      });
    }
    return dx;
  }

 private:
  static std::size_t size(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::size_t at(std::int64_t c, std::int64_t q) const { return size(c * p_.pixels() + q); }

  // body(pixel, its weight for one channel) for all pixels in the window around q.
  template <class Body>
  void each_neighbour(std::int64_t q, Body&& body) const {
    const std::int64_t row = q / p_.width, column = q % p_.width;
    const auto each = [&](auto&& inner) {
      for (std::int64_t i = row - p_.reach; i <= row + p_.reach; ++i)
        for (std::int64_t j = column - p_.reach; j <= column + p_.reach; ++j)
          if (i >= 0 && i < p_.height && j >= 0 && j < p_.width)
            inner(i * p_.width + j, weights_[size(std::abs(i - row))] * weights_[size(std::abs(j - column))]);
    };
    double sum = 0;
    each([&](std::int64_t, double weight) { sum += weight * double(p_.channels); });
    each([&](std::int64_t pixel, double weight) { body(pixel, weight / sum); });
  }

  template <class Value>
  Plane window(Value&& value) const {
    Plane result(size(p_.pixels()));
    for (std::int64_t q = 0; q < p_.pixels(); ++q)
      each_neighbour(q, [&](std::int64_t from, double weight) {
        for (std::int64_t c = 0; c < p_.channels; ++c) result[size(q)] += weight * value(c, from);
      });
    return result;
  }

  const ContrastProblem& p_;
  Plane weights_, v_, mean_, deviation_;
  double mean_deviation_ = 0;
};

}  // namespace
}  // namespace local_contrast_norm_reference_cc

Launcher contrast_reference(const Problem& problem, const LaunchContext&) {
  using namespace local_contrast_norm_reference_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = contrast_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t n = 0; n < p.images; ++n) {
        const std::int64_t first = n * p.channels * p.pixels();
        const PlainImage image(p, a.in<T>(0) + first);
        for (std::int64_t c = 0; c < p.channels; ++c)
          for (std::int64_t q = 0; q < p.pixels(); ++q)
            a.out<T>(0)[first + c * p.pixels() + q] = static_cast<T>(image.y(c, q));
      }
    };
  });
}

Launcher contrast_grad_reference(const Problem& problem, const LaunchContext&) {
  using namespace local_contrast_norm_reference_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = contrast_problem(problem)](const LaunchArgs& a) {
      const std::int64_t each = p.channels * p.pixels();
      for (std::int64_t n = 0; n < p.images; ++n) {
        const T* dy = a.in<T>(0) + n * each;
        const Plane dx = PlainImage(p, a.in<T>(1) + n * each).gradient(Plane(dy, dy + each));
        for (std::int64_t i = 0; i < each; ++i)
          a.out<T>(0)[n * each + i] = static_cast<T>(dx[std::size_t(i)]);
      }
    };
  });
}

}  // namespace headroom
