#include "ops/cpu/parallel.h"
#include "ops/quantize/quantize.h"
#include "ops/quantize/round_to.h"

namespace headroom {
namespace quantize_kernels_cc {
namespace {

struct Bounds {
  std::int32_t low = 0, high = 0;
};

Bounds bounds_of(const Attrs& attrs) {
  return {static_cast<std::int32_t>(attrs.integer("low")), static_cast<std::int32_t>(attrs.integer("high"))};
}

// Calls f.operator()<T>() with the type of the small integers.
template <class F>
Launcher dispatch_small(DType dtype, F&& f) {
  if (dtype == DType::u8) return f.template operator()<std::uint8_t>();
  if (dtype == DType::i8) return f.template operator()<std::int8_t>();
  return f.template operator()<std::int32_t>();
}

// Of two integers; bytes need no more than the lanes of fp32.
template <class X>
using Difference = std::conditional_t<sizeof(X) == 1, std::int32_t, std::int64_t>;

// One element: F is the type of scale, X and Y those of input and output.
template <class F, class X, class Y, class Zero>
inline Y converted(X x, F scale, Zero zero, Bounds bounds) {
  if constexpr (std::is_floating_point_v<Y>)
    return static_cast<F>(Difference<X>{x} - Difference<X>{zero}) * scale;
  else if constexpr (std::is_floating_point_v<X>)
    return static_cast<Y>(round_to<F>(x / scale, zero, bounds.low, bounds.high));
  else
    return static_cast<Y>(round_to<F>(static_cast<F>(x) * scale, zero, bounds.low, bounds.high));
}

template <class F, class X, class Y, class Zero>
void convert_row(const ScaleMap::Row& row, Bounds bounds, const X* x, const F* scale, const Zero* zero,
                 bool one_zero, Y* y) {
  x += row.begin, y += row.begin, scale += row.scale, zero += one_zero ? 0 : row.scale;
  if (row.step == 1 && !one_zero) {
#pragma omp simd
    for (std::int64_t i = 0; i < row.count; ++i)
      y[i] = converted<F, X, Y, Zero>(x[i], scale[i], zero[i], bounds);
  } else if (row.step == 1) {
    const Zero from = *zero;
#pragma omp simd
    for (std::int64_t i = 0; i < row.count; ++i)
      y[i] = converted<F, X, Y, Zero>(x[i], scale[i], from, bounds);
  } else {
    const F one = *scale;
    const Zero from = *zero;
#pragma omp simd
    for (std::int64_t i = 0; i < row.count; ++i) y[i] = converted<F, X, Y, Zero>(x[i], one, from, bounds);
  }
}

bool one_zero(const Problem& p) { return p.inputs[2].shape.numel() == 1; }

template <class F, class X, class Y, class Zero>
Launcher by_rows(const Problem& p) {
  return [map = scale_map(p), bounds = bounds_of(p.attrs), single = one_zero(p),
          n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
    const std::int64_t rows = map.rows(), grain = kElementwiseGrain * rows / n + 1;
    parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t r = begin; r < end; ++r)
        convert_row<F, X, Y, Zero>(map.row(r), bounds, a.in<X>(0), a.in<F>(1), a.in<Zero>(2), single,
                                   a.out<Y>(0));
    });
  };
}

// The definition, element by element, rounded by the library.
template <class F, class X, class Y, class Zero>
Launcher by_elements(const Problem& p) {
  return [map = scale_map(p), bounds = bounds_of(p.attrs), single = one_zero(p),
          n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
    for (std::int64_t i = 0; i < n; ++i) {
      const F scale = a.in<F>(1)[map.scale_of(i)];
      const auto zero = static_cast<double>(a.in<Zero>(2)[single ? 0 : map.scale_of(i)]);
      const auto x = static_cast<double>(a.in<X>(0)[i]);
      if constexpr (std::is_floating_point_v<Y>) {
        a.out<Y>(0)[i] = static_cast<Y>((x - zero) * double(scale));
      } else {
        const F value = std::is_floating_point_v<X> ? static_cast<F>(x) / scale : static_cast<F>(x) * scale;
        const double rounded = std::nearbyint(double(value)) + zero;
        a.out<Y>(0)[i] = static_cast<Y>(!(rounded > bounds.low) ? bounds.low
                                        : rounded < bounds.high ? static_cast<std::int32_t>(rounded)
                                                                : bounds.high);
      }
    }
  };
}

template <bool kByRows>
Launcher prepare(const Problem& p, const LaunchContext&) {
  const bool back = p.op == "dequantize", floats = is_float(p.inputs[0].dtype);
  return dispatch_float(p.inputs[1].dtype, [&]<class F>() {
    return dispatch_small(p.inputs[2].dtype, [&]<class T>() -> Launcher {
      if constexpr (kByRows)
        return back     ? by_rows<F, T, F, T>(p)
               : floats ? by_rows<F, F, T, T>(p)
                        : by_rows<F, std::int32_t, T, T>(p);
      else
        return back     ? by_elements<F, T, F, T>(p)
               : floats ? by_elements<F, F, T, T>(p)
                        : by_elements<F, std::int32_t, T, T>(p);
    });
  });
}

Operator operator_with(OpSchema schema) {
  std::vector<Case> cases = quantize_cases(schema.name);
  return {.schema = std::move(schema),
          .kernels = {{.name = "cuda:map",
                       .device = DeviceKind::cuda,
                       .accepts = accepts_cuda_floats,
                       .prepare = HEADROOM_CUDA(prepare_quantize_cuda)},
                      quantize_cpu_rows(),
                      quantize_reference()},
          .cases = std::move(cases)};
}

}  // namespace
}  // namespace quantize_kernels_cc

Kernel quantize_cpu_rows() {
  using namespace quantize_kernels_cc;
  return {.name = "cpu:rows", .prepare = prepare<true>};
}
Kernel quantize_reference() {
  using namespace quantize_kernels_cc;
  return {.name = "reference", .prepare = prepare<false>};
}

std::vector<Operator> quantize_operators() {
  using namespace quantize_kernels_cc;
  return {operator_with(quantize_schema()), operator_with(requantize_schema()),
          operator_with(dequantize_schema())};
}

}  // namespace headroom
