#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "ops/fp16_parts/fp16_parts.h"

namespace headroom {
namespace fp16_parts_reference_cc {
namespace {

double to_half(double x) { return half_value(DType::f16, half_bits(DType::f16, x)); }

// 11 significant bits and no more.
bool fits_one_part(double x) {
  int exponent = 0;
  const double digits = std::ldexp(std::frexp(x, &exponent), 11);
  return digits == std::floor(digits);
}

bool is_pixel(double x) {
  const auto y = static_cast<float>(x) * 255.0f;
  const float whole = std::rint(y);
  return std::abs(whole) <= 2048 && std::abs(y - whole) <= std::ldexp(std::abs(whole), -22);
}

struct Scale {
  double power = 1, base = 1, parts = 1;
};

Scale scale_of(double largest, double base, int parts) {
  int exponent = 0;  // largest = digits 2^exponent with digits in [0.5, 1)
  std::frexp(double(static_cast<float>(largest * base)), &exponent);
  return {std::ldexp(1.0, std::max(largest == 0 ? -126 : exponent - 15, -126)), base, double(parts)};
}

template <class T>
Scale find_scale(const T* x, std::int64_t count, int max_parts) {
  double largest = 0;
  bool exact = true, pixels = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = std::abs(double(x[i]));
    if (std::isfinite(v)) largest = std::max(largest, v);
    exact = exact && (!std::isfinite(v) || fits_one_part(v));
    pixels = pixels && is_pixel(v);
  }
  return scale_of(largest, !exact && pixels ? 255 : 1, max_parts == 1 || exact || pixels ? 1 : 2);
}

template <class T>
void split(const PartsProblem& p, const T* x, const Scale& s, T* hi, T* scale) {
  T* const lo = hi + p.rows * p.ld;
  for (std::int64_t r = 0; r < p.rows; ++r)
    for (std::int64_t c = 0; c < p.ld; ++c) {
      const double v = c < p.columns ? double(x[r * p.columns + c]) : 0;
      const double scaled = (s.base == 1 ? v : std::rint(v * s.base)) / s.power;
      hi[r * p.ld + c] = static_cast<T>(to_half(scaled));
      if (p.parts == 2) lo[r * p.ld + c] = static_cast<T>(to_half(scaled - to_half(scaled)));
    }
  const double values[] = {s.power, s.base, s.parts, 0};
  std::copy(values, values + 4, scale);
}

// One part is none where the scale says so.
template <class T>
struct Operand {
  const T *hi, *lo;
  std::int64_t ld;
  bool across;
  double unscale;
  Operand(const T* parts, const T* scale, std::int64_t rows, std::int64_t stride, int count, bool transposed)
      : hi(parts),
        lo(count == 2 && scale[2] == 2 ? parts + rows * stride : nullptr),
        ld(stride),
        across(transposed),
        unscale(double(scale[0]) / double(scale[1])) {}
  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return across ? column * ld + row : row * ld + column;
  }
};

template <class T>
void multiply(const PartsProduct& p, const LaunchArgs& args) {
  const Operand<T> a(args.in<T>(0), args.in<T>(1), p.rows_a, p.ld_a, p.parts_a, p.trans_a),
      b(args.in<T>(2), args.in<T>(3), p.rows_b, p.ld_b, p.parts_b, p.trans_b);
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      long double sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const std::int64_t at_a = a.at(i, k), at_b = b.at(k, j);
        sum += a.hi[at_a] * b.hi[at_b];
        if (a.lo != nullptr) sum += a.lo[at_a] * b.hi[at_b];
        if (b.lo != nullptr) sum += a.hi[at_a] * b.lo[at_b];
      }
      const double x = double(sum) * a.unscale * b.unscale + (p.bias ? double(args.in<T>(4)[j]) : 0);
      args.out<T>(0)[i * p.n + j] = activate_scalar(p.activation, static_cast<T>(x));
    }
}

}  // namespace
}  // namespace fp16_parts_reference_cc

template <class T>
void write_parts(const PartsProblem& p, const T* x, double bound, T* parts, T* scale) {
  using namespace fp16_parts_reference_cc;
  split(p, x, scale_of(bound, 1, p.parts), parts, scale);
}
template void write_parts(const PartsProblem&, const float*, double, float*, float*);
template void write_parts(const PartsProblem&, const double*, double, double*, double*);

Launcher fp16_parts_reference(const Problem& problem, const LaunchContext&) {
  using namespace fp16_parts_reference_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [list = parts_problems(problem)](const LaunchArgs& a) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        const PartsProblem& p = list[i];
        const T* x = a.in<T>(i);
        split(p, x, find_scale(x, p.rows * p.columns, p.parts), a.out<T>(2 * i), a.out<T>(2 * i + 1));
      }
    };
  });
}

Launcher parts_product_reference(const Problem& problem, const LaunchContext&) {
  using namespace fp16_parts_reference_cc;
  return dispatch_float(problem.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = parts_product(problem.inputs, problem.attrs)](const LaunchArgs& a) { multiply<T>(p, a); };
  });
}

}  // namespace headroom
