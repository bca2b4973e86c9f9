#include <cmath>
#include <vector>

#include "ops/attention/attention.h"

namespace headroom {
namespace attention_reference_cc {
namespace {

// One head: element d of time t is at t * step + d.
template <class T>
struct Rows {
  T* at;
  std::int64_t step;
  T* operator[](std::int64_t t) const { return at + t * step; }
};

template <class T>
struct Head {
  Rows<T> q, k, v;
};

template <class T>
Head<T> head_of(const AttentionProblem& a, T* qkv, std::int64_t b, std::int64_t h) {
  T* at = qkv + b * a.time * a.qkv_row() + h * a.width;
  return {{at, a.qkv_row()}, {at + a.row(), a.qkv_row()}, {at + 2 * a.row(), a.qkv_row()}};
}

template <class T>
Rows<T> rows_of(const AttentionProblem& a, T* y, std::int64_t b, std::int64_t h) {
  return {y + b * a.time * a.row() + h * a.width, a.row()};
}

// What a sum has lost to rounding is kept beside it. Scores are long sums and the gradient takes two of them
// from each other: added up plainly, this definition would be further from the truth than fp64 kernels that
// have many partial sums. Roundings of the products themselves do not grow, and stay.
struct Sum {
  double high = 0, lost = 0;
  double value() const { return high + lost; }
};

inline void add(double x, double& high, double& lost) {
  const double next = high + x, added = next - high;
  lost += (high - (next - added)) + (x - added);
  high = next;
}

template <class T>
Sum dot(std::int64_t n, const T* x, const T* y) {
  Sum sum;
  for (std::int64_t d = 0; d < n; ++d) add(static_cast<double>(x[d]) * y[d], sum.high, sum.lost);
  return sum;
}

double minus(const Sum& a, const Sum& b) { return (a.high - b.high) + (a.lost - b.lost); }

// Rows of such sums, apart so that compilers make vectors of them.
class SumRows {
 public:
  SumRows(std::int64_t rows, std::int64_t width)
      : width_(width),
        high_(static_cast<std::size_t>(rows * width), 0),
        lost_(static_cast<std::size_t>(rows * width), 0) {}

  template <class T>
  void add_scaled(std::int64_t row, double weight, const T* x) {
    double *high = high_.data() + row * width_, *lost = lost_.data() + row * width_;
#pragma omp simd
    for (std::int64_t d = 0; d < width_; ++d) add(weight * static_cast<double>(x[d]), high[d], lost[d]);
  }
  double value(std::int64_t row, std::int64_t d) const {
    const auto at = static_cast<std::size_t>(row * width_ + d);
    return high_[at] + lost_[at];
  }

 private:
  std::int64_t width_;
  std::vector<double> high_, lost_;
};

std::int64_t seen(const AttentionProblem& a, std::int64_t t) { return a.causal ? t + 1 : a.time; }

template <class T>
void forward(const AttentionProblem& a, const Head<const T>& in, const Rows<T>& y, T* lse) {
  std::vector<double> s(static_cast<std::size_t>(a.time));
  for (std::int64_t t = 0; t < a.time; ++t) {
    const std::int64_t n = seen(a, t);
    double most = -INFINITY;
    for (std::int64_t u = 0; u < n; ++u) {
      s[std::size_t(u)] = a.scale * dot(a.width, in.q[t], in.k[u]).value();
      most = std::max(most, s[std::size_t(u)]);
    }
    Sum sum;
    SumRows mean(1, a.width);
    for (std::int64_t u = 0; u < n; ++u) {
      const double weight = std::exp(s[std::size_t(u)] - most);
      add(weight, sum.high, sum.lost);
      mean.add_scaled(0, weight, in.v[u]);
    }
    for (std::int64_t d = 0; d < a.width; ++d) y[t][d] = static_cast<T>(mean.value(0, d) / sum.value());
    lse[t] = static_cast<T>(most + std::log(sum.value()));
  }
}

template <class T>
void backward(const AttentionProblem& a, const Head<const T>& in, const Rows<const T>& y,
              const Rows<const T>& dy, const T* lse, const Head<T>& out) {
  SumRows dq(a.time, a.width), dk(a.time, a.width), dv(a.time, a.width);
  for (std::int64_t t = 0; t < a.time; ++t) {
    const Sum along = dot(a.width, dy[t], y[t]);
    for (std::int64_t u = 0; u < seen(a, t); ++u) {
      const Sum score = dot(a.width, in.q[t], in.k[u]);
      const double p = std::exp((a.scale * score.high - lse[t]) + a.scale * score.lost);
      const double ds = a.scale * p * minus(dot(a.width, dy[t], in.v[u]), along);
      dq.add_scaled(t, ds, in.k[u]);
      dk.add_scaled(u, ds, in.q[t]);
      dv.add_scaled(u, p, dy[t]);
    }
  }
  for (std::int64_t t = 0; t < a.time; ++t)
    for (std::int64_t d = 0; d < a.width; ++d) {
      out.q[t][d] = static_cast<T>(dq.value(t, d));
      out.k[t][d] = static_cast<T>(dk.value(t, d));
      out.v[t][d] = static_cast<T>(dv.value(t, d));
    }
}

Launcher prepare_forward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = attention_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t h = 0; h < p.heads; ++h)
          forward<T>(p, head_of(p, a.in<T>(0), b, h), rows_of(p, a.out<T>(0), b, h),
                     a.out<T>(1) + (b * p.heads + h) * p.time);
    };
  });
}

Launcher prepare_backward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = attention_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t h = 0; h < p.heads; ++h)
          backward<T>(p, head_of(p, a.in<T>(1), b, h), rows_of(p, a.in<T>(2), b, h),
                      rows_of(p, a.in<T>(0), b, h), a.in<T>(3) + (b * p.heads + h) * p.time,
                      head_of(p, a.out<T>(0), b, h));
    };
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return problem.op == "attention_grad" ? prepare_backward(problem) : prepare_forward(problem);
}

}  // namespace
}  // namespace attention_reference_cc

Kernel attention_reference() {
  using namespace attention_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
