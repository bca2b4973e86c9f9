// An image at a time: its channels are added up to planes of one number a pixel, and windows slide over these
// along rows, then along columns.
#include <algorithm>
#include <cmath>

#include "ops/cpu/parallel.h"
#include "ops/local_contrast_norm/local_contrast_norm.h"

namespace headroom {
namespace local_contrast_norm_cpu_planes_cc {
namespace {

constexpr std::int64_t kPlanes = 5;  // of scratch memory for each thread

// What does not depend on the data, made once.
template <class T>
struct Window {
  explicit Window(const ContrastProblem& problem) : p(problem) {
    const std::vector<double> g = contrast_weights(p.reach);
    weights.assign(g.begin(), g.end());
    const std::vector<double> down = contrast_sums(g, p.height), along = contrast_sums(g, p.width);
    for (const double d : down)
      for (const double a : along) share.push_back(static_cast<T>(1 / (d * a * double(p.channels))));
  }
  ContrastProblem p;
  std::vector<T> weights, share;  // share: what a weight is multiplied by, for each pixel
};

template <class T>
class Image {
 public:
  Image(const Window<T>& w, const T* x, T* scratch)
      : w_(w),
        p_(w.p),
        x_(x),
        mean_(scratch),
        deviation_(scratch + p_.pixels()),
        sums_(scratch + 2 * p_.pixels()),
        rows_(scratch + 3 * p_.pixels()),
        back_(scratch + 4 * p_.pixels()) {
    add_channels(sums_, [&](const T* v, std::int64_t q) { return v[q]; });
    slide(sums_, mean_);
    divide(mean_);
    add_channels(sums_, [&](const T* v, std::int64_t q) { return (v[q] - mean_[q]) * (v[q] - mean_[q]); });
    slide(sums_, deviation_);
    divide(deviation_);
    T all = 0;
    for (std::int64_t q = 0; q < p_.pixels(); ++q) deviation_[q] = std::sqrt(deviation_[q]);
    for (std::int64_t q = 0; q < p_.pixels(); ++q) all += deviation_[q];
    least_ = all / static_cast<T>(p_.pixels());
  }

  void forward(T* y) const {
    for (std::int64_t c = 0; c < p_.channels; ++c) {
      const T* x = x_ + c * p_.pixels();
      for (std::int64_t q = 0; q < p_.pixels(); ++q) y[c * p_.pixels() + q] = (x[q] - mean_[q]) * inverse(q);
    }
  }

  void backward(const T* dy, T* dx) {
    gradient_of_squares(dy);
    std::fill_n(sums_, p_.pixels(), T{0});
    for (std::int64_t c = 0; c < p_.channels; ++c) {
      const std::int64_t first = c * p_.pixels();
      for (std::int64_t q = 0; q < p_.pixels(); ++q) {
        const T dv = dy[first + q] * inverse(q) + 2 * (x_[first + q] - mean_[q]) * back_[q];
        dx[first + q] = dv, sums_[q] += dv;
      }
    }
    divide(sums_);
    slide(sums_, back_);
    for (std::int64_t c = 0; c < p_.channels; ++c)
      for (std::int64_t q = 0; q < p_.pixels(); ++q) dx[c * p_.pixels() + q] -= back_[q];
  }

 private:
  T inverse(std::int64_t q) const {
    const T d = deviation_[q] > least_ ? deviation_[q] : least_;
    return d == 0 ? T{0} : T{1} / d;
  }

  // to[q] = the sum of value(channel, q) over the channels.
  template <class Value>
  void add_channels(T* to, Value&& value) const {
    std::fill_n(to, p_.pixels(), T{0});
    for (std::int64_t c = 0; c < p_.channels; ++c)
      for (std::int64_t q = 0; q < p_.pixels(); ++q) to[q] += value(x_ + c * p_.pixels(), q);
  }

  void divide(T* plane) const {
    for (std::int64_t q = 0; q < p_.pixels(); ++q) plane[q] *= w_.share[static_cast<std::size_t>(q)];
  }

  // to = the weighted sums over the window around each pixel. Weight by weight, so that vectors run over
  // pixels.
  void slide(const T* from, T* to) const {
    const std::int64_t h = p_.height, w = p_.width;
    std::fill_n(rows_, p_.pixels(), T{0});
    std::fill_n(to, p_.pixels(), T{0});
    for (std::int64_t k = -p_.reach; k <= p_.reach; ++k) {
      const T weight = w_.weights[static_cast<std::size_t>(std::abs(k))];
      const std::int64_t first = std::max<std::int64_t>(0, -k), last = std::min(w, w - k);
      for (std::int64_t i = 0; i < h; ++i)
        for (std::int64_t j = first; j < last; ++j) rows_[i * w + j] += weight * from[i * w + j + k];
    }
    for (std::int64_t i = 0; i < h; ++i)
      for (std::int64_t k = std::max(-p_.reach, -i); k <= std::min(p_.reach, h - 1 - i); ++k) {
        const T weight = w_.weights[static_cast<std::size_t>(std::abs(k))];
        for (std::int64_t j = 0; j < w; ++j) to[i * w + j] += weight * rows_[(i + k) * w + j];
      }
  }

  // back_: the gradient that a square of v gets through the deviations.
  void gradient_of_squares(const T* dy) {
    std::fill_n(sums_, p_.pixels(), T{0});
    for (std::int64_t c = 0; c < p_.channels; ++c)
      for (std::int64_t q = 0; q < p_.pixels(); ++q)
        sums_[q] -= dy[c * p_.pixels() + q] * (x_[c * p_.pixels() + q] - mean_[q]);
    T of_mean = 0;
    for (std::int64_t q = 0; q < p_.pixels(); ++q) {
      sums_[q] *= inverse(q) * inverse(q);
      if (deviation_[q] > least_) continue;
      of_mean += sums_[q], sums_[q] = 0;
    }
    of_mean /= static_cast<T>(p_.pixels());
    for (std::int64_t q = 0; q < p_.pixels(); ++q)
      sums_[q] = deviation_[q] == 0 ? T{0} : (sums_[q] + of_mean) / (2 * deviation_[q]);
    divide(sums_);
    slide(sums_, back_);
  }

  const Window<T>& w_;
  const ContrastProblem& p_;
  const T* x_;
  T *mean_, *deviation_, *sums_, *rows_, *back_;
  T least_ = 0;
};

template <class T, class Body>
void each_image(const Window<T>& w, const LaunchArgs& a, Body&& body) {
  const std::int64_t each = w.p.channels * w.p.pixels();
  parallel_for(w.p.images, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    T* scratch = static_cast<T*>(a.workspace) + thread * kPlanes * w.p.pixels();
    for (std::int64_t n = begin; n < end; ++n) body(n * each, scratch);
  });
}

}  // namespace
}  // namespace local_contrast_norm_cpu_planes_cc

Launcher contrast_planes(const Problem& problem, const LaunchContext&) {
  using namespace local_contrast_norm_cpu_planes_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [w = Window<T>(contrast_problem(problem))](const LaunchArgs& a) {
      each_image(w, a, [&](std::int64_t first, T* scratch) {
        Image<T>(w, a.in<T>(0) + first, scratch).forward(a.out<T>(0) + first);
      });
    };
  });
}

Launcher contrast_grad_planes(const Problem& problem, const LaunchContext&) {
  using namespace local_contrast_norm_cpu_planes_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [w = Window<T>(contrast_problem(problem))](const LaunchArgs& a) {
      each_image(w, a, [&](std::int64_t first, T* scratch) {
        Image<T>(w, a.in<T>(1) + first, scratch).backward(a.in<T>(0) + first, a.out<T>(0) + first);
      });
    };
  });
}

std::size_t contrast_planes_workspace(const Problem& problem, const Target& target) {
  using namespace local_contrast_norm_cpu_planes_cc;
  return static_cast<std::size_t>(target.device.threads * kPlanes * contrast_problem(problem).pixels()) *
         size_of(problem.outputs[0].dtype);
}

}  // namespace headroom
