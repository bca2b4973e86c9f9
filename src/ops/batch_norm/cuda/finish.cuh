#pragma once

// From the sums over a channel to what is done to each of its elements. Sums are fp64: squares of fp32 are
// exact there, and fp64 arithmetic at this rate hides behind the reading.

#include "ops/batch_norm/cuda/channels.h"
#include "ops/cuda/fold.cuh"
#include "ops/cuda/index.cuh"

namespace headroom::cuda {

__device__ inline double parameter(const void* p, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::f64:
      return static_cast<const double*>(p)[i];
    case DType::f16:
      return double{widen(static_cast<const Half*>(p)[i])};
    case DType::bf16:
      return double{widen(static_cast<const Brain*>(p)[i])};
    default:
      return double{static_cast<const float*>(p)[i]};
  }
}
__device__ inline void set_parameter(void* p, DType dtype, std::int64_t i, double x) {
  switch (dtype) {
    case DType::f64:
      static_cast<double*>(p)[i] = x;
      return;
    case DType::f16:
      static_cast<Half*>(p)[i] = narrow<Half>(static_cast<float>(x));
      return;
    case DType::bf16:
      static_cast<Brain*>(p)[i] = narrow<Brain>(static_cast<float>(x));
      return;
    default:
      static_cast<float*>(p)[i] = static_cast<float>(x);
  }
}

// Forwards (x - high) * factor + shift, backwards dy * factor + ((x - high) * slope + shift). `high` is the
// mean as the arithmetic's type has it; what rounding it left is in the shift.
struct Coefficients {
  double high, factor, shift, slope;
};

template <BatchNormKind kKind>
inline constexpr bool kBackward =
    kKind == BatchNormKind::training_grad || kKind == BatchNormKind::inference_grad;
template <BatchNormKind kKind>
inline constexpr bool kGathers = kKind != BatchNormKind::inference;

// What is subtracted before squares are summed, so that a mean far from zero costs no digits: an element of
// the channel. fp64 has no digits to spare: there the mean of a few, so that little is left to cancel.
// Backwards the mean itself.
template <class T, BatchNormKind kKind>
__device__ double center_of(const BatchNorm& p, const BatchNormTensors& t, std::int64_t c) {
  if constexpr (kKind == BatchNormKind::training) {
    constexpr int kSamples = sizeof(T) == 8 ? 8 : 1;
    double sum = 0;
#pragma unroll
    for (int k = 0; k < kSamples; ++k) {
      const std::int64_t row = k * p.rows / kSamples, at = k * p.plane / kSamples;
      sum += double{widen(static_cast<const T*>(t.x)[(row * p.channels + c) * p.plane + at])};
    }
    return sum / kSamples;
  } else {
    return parameter(t.mean, kKind == BatchNormKind::training_grad ? DType::f64 : p.parameters, c);
  }
}

struct Sums {
  double first = 0, second = 0;
};

template <class C>
__device__ Coefficients affine(double scale, double bias, double mean, double inv_std) {
  const double high = double{static_cast<C>(mean)}, factor = scale * inv_std;
  return {high, factor, bias - (mean - high) * factor, 0};
}

template <class T, BatchNormKind kKind>
__device__ double inv_std_of(const BatchNorm& p, const BatchNormTensors& t, std::int64_t c) {
  if constexpr (kKind == BatchNormKind::training_grad)
    return static_cast<const double*>(t.var)[c];
  else
    return 1 / sqrt(parameter(t.var, p.parameters, c) + p.epsilon);
}

// One thread, for channel c, whose sums are about `center`. Writes what there is one of a channel where
// `writes`.
template <class T, BatchNormKind kKind>
__device__ Coefficients finish(const BatchNorm& p, const BatchNormTensors& t, std::int64_t c, Sums sums,
                               bool writes, double center) {
  using C = Compute<T>;
  const double scale = parameter(t.scale, p.parameters, c), n = static_cast<double>(p.rows * p.plane);
  if constexpr (kKind == BatchNormKind::inference) {
    return affine<C>(scale, parameter(t.bias, p.parameters, c), center, inv_std_of<T, kKind>(p, t, c));
  } else if constexpr (kKind == BatchNormKind::training) {
    const double mean = center + sums.first / n;
    double m2 = sums.second - sums.first * sums.first / n;
    if (m2 < 0) m2 = 0;  // NaN stays
    const double inv_std = 1 / sqrt(m2 / n + p.epsilon);
    if (writes) {
      const double w = p.momentum;
      set_parameter(t.new_mean, p.parameters, c, (1 - w) * parameter(t.mean, p.parameters, c) + w * mean);
      set_parameter(t.new_var, p.parameters, c,
                    (1 - w) * parameter(t.var, p.parameters, c) + w * m2 / (n - 1));
      t.saved_mean[c] = mean, t.saved_inv_std[c] = inv_std;
    }
    return affine<C>(scale, parameter(t.bias, p.parameters, c), mean, inv_std);
  } else {
    const double inv_std = inv_std_of<T, kKind>(p, t, c), factor = scale * inv_std;
    if (writes) {
      set_parameter(t.dscale, p.parameters, c, sums.second * inv_std);
      set_parameter(t.dbias, p.parameters, c, sums.first);
    }
    if constexpr (kKind == BatchNormKind::inference_grad) {
      return {0, factor, 0, 0};
    } else {
      const double mean = center, high = double{static_cast<C>(mean)};
      const double slope = -factor * inv_std * inv_std * sums.second / n;
      return {high, factor, -factor * sums.first / n - slope * (mean - high), slope};
    }
  }
}

template <class T, BatchNormKind kKind>
__device__ Coefficients finish(const BatchNorm& p, const BatchNormTensors& t, std::int64_t c, Sums sums,
                               bool writes) {
  return finish<T, kKind>(p, t, c, sums, writes, center_of<T, kKind>(p, t, c));
}

// One element.
template <class T, BatchNormKind kKind>
struct Apply {
  Compute<T> high, factor, shift, slope;
  __device__ explicit Apply(const Coefficients& k)
      : high(static_cast<Compute<T>>(k.high)),
        factor(static_cast<Compute<T>>(k.factor)),
        shift(static_cast<Compute<T>>(k.shift)),
        slope(static_cast<Compute<T>>(k.slope)) {}
  __device__ T operator()(T x, T dy) const {
    if constexpr (!kBackward<kKind>)
      return narrow<T>((widen(x) - high) * factor + shift);
    else if constexpr (kKind == BatchNormKind::training_grad)
      return narrow<T>(widen(dy) * factor + ((widen(x) - high) * slope + shift));
    else
      return narrow<T>(widen(dy) * factor);
  }
};

// One element into the sums of its channel.
template <BatchNormKind kKind, class T>
__device__ void gather(Sums& sums, T x, T dy, double center) {
  const double away = double{widen(x)} - center;
  if constexpr (kBackward<kKind>) {
    const double d = double{widen(dy)};
    sums.first += d, sums.second = fma(d, away, sums.second);
  } else {
    sums.first += away, sums.second = fma(away, away, sums.second);
  }
}

// Calls f.operator()<T, kKind>().
template <class F>
void dispatch_batch_norm(const BatchNorm& p, F&& f) {
  dispatch_floats(p.dtype, [&]<class T>() {
    switch (p.kind) {
      case BatchNormKind::training:
        return f.template operator()<T, BatchNormKind::training>();
      case BatchNormKind::inference:
        return f.template operator()<T, BatchNormKind::inference>();
      case BatchNormKind::training_grad:
        return f.template operator()<T, BatchNormKind::training_grad>();
      case BatchNormKind::inference_grad:
        return f.template operator()<T, BatchNormKind::inference_grad>();
    }
  });
}

}  // namespace headroom::cuda
