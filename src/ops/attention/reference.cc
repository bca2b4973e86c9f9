#include <cmath>
#include <vector>

#include "ops/attention/attention.h"

namespace headroom {
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

template <class T>
double dot(std::int64_t n, const T* x, const T* y) {
  double sum = 0;
  for (std::int64_t d = 0; d < n; ++d) sum += static_cast<double>(x[d]) * y[d];
  return sum;
}

std::int64_t seen(const AttentionProblem& a, std::int64_t t) { return a.causal ? t + 1 : a.time; }

template <class T>
void forward(const AttentionProblem& a, const Head<const T>& in, const Rows<T>& y, T* lse) {
  std::vector<double> s(static_cast<std::size_t>(a.time));
  for (std::int64_t t = 0; t < a.time; ++t) {
    const std::int64_t n = seen(a, t);
    double most = -INFINITY, sum = 0;
    for (std::int64_t u = 0; u < n; ++u) {
      s[std::size_t(u)] = a.scale * dot(a.width, in.q[t], in.k[u]);
      most = std::max(most, s[std::size_t(u)]);
    }
    for (std::int64_t u = 0; u < n; ++u) sum += s[std::size_t(u)] = std::exp(s[std::size_t(u)] - most);
    for (std::int64_t d = 0; d < a.width; ++d) {
      double mean = 0;
      for (std::int64_t u = 0; u < n; ++u) mean += s[std::size_t(u)] * in.v[u][d];
      y[t][d] = static_cast<T>(mean / sum);
    }
    lse[t] = static_cast<T>(most + std::log(sum));
  }
}

template <class T>
void backward(const AttentionProblem& a, const Head<const T>& in, const Rows<const T>& y,
              const Rows<const T>& dy, const T* lse, const Head<T>& out) {
  const auto size = static_cast<std::size_t>(3 * a.time * a.width);
  std::vector<double> sums(size, 0);
  double *dq = sums.data(), *dk = dq + a.time * a.width, *dv = dk + a.time * a.width;
  for (std::int64_t t = 0; t < a.time; ++t) {
    const double along = dot(a.width, dy[t], y[t]);
    for (std::int64_t u = 0; u < seen(a, t); ++u) {
      const double p = std::exp(a.scale * dot(a.width, in.q[t], in.k[u]) - lse[t]);
      const double ds = a.scale * p * (dot(a.width, dy[t], in.v[u]) - along);
      for (std::int64_t d = 0; d < a.width; ++d) {
        dq[t * a.width + d] += ds * in.k[u][d];
        dk[u * a.width + d] += ds * in.q[t][d];
        dv[u * a.width + d] += p * dy[t][d];
      }
    }
  }
  for (std::int64_t t = 0; t < a.time; ++t)
    for (std::int64_t d = 0; d < a.width; ++d) {
      out.q[t][d] = static_cast<T>(dq[t * a.width + d]);
      out.k[t][d] = static_cast<T>(dk[t * a.width + d]);
      out.v[t][d] = static_cast<T>(dv[t * a.width + d]);
    }
}

}  // namespace

Launcher attention_reference(const Problem& problem, const Capabilities&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = attention_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t h = 0; h < p.heads; ++h)
          forward<T>(p, head_of(p, a.in<T>(0), b, h), rows_of(p, a.out<T>(0), b, h),
                     a.out<T>(1) + (b * p.heads + h) * p.time);
    };
  });
}

Launcher attention_grad_reference(const Problem& problem, const Capabilities&) {
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

}  // namespace headroom
