#include <cmath>

#include "ops/batch_norm/batch_norm.h"

namespace headroom {
namespace batch_norm_reference_cc {
namespace {

// Calls body(i) for every element i of channel c.
template <class Body>
void each_element(const Channels& s, std::int64_t c, Body&& body) {
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t k = 0; k < s.plane; ++k) body((r * s.channels + c) * s.plane + k);
}

// What is folded into the norm: the sum with a residual input, and relu.
template <class T>
auto finish_of(const Problem& p) {
  return [residual = p.inputs.size() > 5, relu = p.attrs.has("activation")](double y, std::int64_t i,
                                                                            const LaunchArgs& a) {
    if (residual) y += a.in<T>(5)[i];
    return static_cast<T>(relu && y < 0 ? 0 : y);
  };
}

// dx, dscale and dbias of channel c; `follows` is whether mean and inv_std were computed from x.
template <class T>
void grad_channel(const Channels& s, const FoldedGradient& f, std::int64_t c, double mean, double inv_std,
                  bool follows, const LaunchArgs& a) {
  const T* x = a.in<T>(1);
  const double scale = a.in<T>(2)[c], n = static_cast<double>(s.per_channel());
  const auto dy = [&](std::int64_t i) -> T {
    const T sum = a.in<T>(0)[i] + (f.summed ? a.in<T>(7)[i] : T{0});
    if (!f.relu) return sum;
    const bool on = f.residual ? a.in<T>(6)[i] > 0 : (x[i] - mean) * inv_std * scale + a.in<T>(5)[c] > 0;
    return on ? sum : T{0};
  };
  long double dbias = 0, dscale = 0;  // as wide as the statistics below
  each_element(s, c, [&](std::int64_t i) {
    dbias += dy(i);
    dscale += dy(i) * (x[i] - mean) * inv_std;
  });
  each_element(s, c, [&](std::int64_t i) {
    const double through =
        follows ? static_cast<double>(dbias / n + (x[i] - mean) * inv_std * dscale / n) : 0;
    a.out<T>(0)[i] = static_cast<T>(scale * inv_std * (dy(i) - through));
    if (f.residual) a.out<T>(3)[i] = dy(i);
  });
  a.out<T>(1)[c] = static_cast<T>(dscale);
  a.out<T>(2)[c] = static_cast<T>(dbias);
}

Launcher prepare_training(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = channels_of(p), finish = finish_of<T>(p)](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      const double n = static_cast<double>(s.per_channel());
      for (std::int64_t c = 0; c < s.channels; ++c) {
        long double sum = 0,
                    deviations = 0;  // wider than any kernel's: many terms must not blur the definition
        each_element(s, c, [&](std::int64_t i) { sum += x[i]; });
        const auto mean = static_cast<double>(sum / n);
        each_element(s, c, [&](std::int64_t i) { deviations += (x[i] - mean) * (x[i] - mean); });
        const auto squares = static_cast<double>(deviations);
        const double inv_std = 1 / std::sqrt(squares / n + s.epsilon);
        each_element(s, c, [&](std::int64_t i) {
          a.out<T>(0)[i] = finish((x[i] - mean) * inv_std * a.in<T>(1)[c] + a.in<T>(2)[c], i, a);
        });
        const double m = s.momentum;
        a.out<T>(1)[c] = static_cast<T>((1 - m) * a.in<T>(3)[c] + m * mean);
        a.out<T>(2)[c] = static_cast<T>((1 - m) * a.in<T>(4)[c] + m * squares / (n - 1));
        a.out<double>(3)[c] = mean;
        a.out<double>(4)[c] = inv_std;
      }
    };
  });
}

Launcher prepare_gradient(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = channels_of(p), f = folded_gradient(p),
            follows = p.op == "batch_norm_grad"](const LaunchArgs& a) {
      for (std::int64_t c = 0; c < s.channels; ++c)
        if (follows)
          grad_channel<T>(s, f, c, a.in<double>(3)[c], a.in<double>(4)[c], true, a);
        else
          grad_channel<T>(s, f, c, a.in<T>(3)[c], 1 / std::sqrt(a.in<T>(4)[c] + s.epsilon), false, a);
    };
  });
}

Launcher prepare_inference(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = channels_of(p), finish = finish_of<T>(p)](const LaunchArgs& a) {
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const double mean = a.in<T>(3)[c], inv_std = 1 / std::sqrt(a.in<T>(4)[c] + s.epsilon);
        each_element(s, c, [&](std::int64_t i) {
          a.out<T>(0)[i] = finish((a.in<T>(0)[i] - mean) * inv_std * a.in<T>(1)[c] + a.in<T>(2)[c], i, a);
        });
      }
    };
  });
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  if (p.op == "batch_norm") return prepare_training(p);
  return p.op == "batch_norm_inference" ? prepare_inference(p) : prepare_gradient(p);
}

}  // namespace
}  // namespace batch_norm_reference_cc

Kernel batch_norm_reference() {
  using namespace batch_norm_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
