#include "ops/cuda/index.cuh"
#include "ops/cuda/types.cuh"
#include "ops/quantize/cuda.h"
#include "ops/quantize/round_to.h"

namespace headroom::cuda {
namespace {

template <class C>
__device__ C scale_at(DType dtype, const void* scales, std::int64_t i) {
  switch (dtype) {
    case DType::f64:
      return static_cast<C>(static_cast<const double*>(scales)[i]);
    case DType::f16:
      return static_cast<C>(widen(static_cast<const Half*>(scales)[i]));
    case DType::bf16:
      return static_cast<C>(widen(static_cast<const Brain*>(scales)[i]));
    default:
      return static_cast<C>(static_cast<const float*>(scales)[i]);
  }
}

__device__ inline std::int64_t scale_index(const ScaleShape& s, std::int64_t element) {
  if (s.whole) return 0;
  const Cut column = cut(element, s.inner), line = cut(column.whole, s.length);
  return s.block == 0 ? line.rest : (line.whole * s.blocks + line.rest / s.block) * s.inner + column.rest;
}

// From floats, in their own type or in fp32.
template <class X, class Y>
__global__ void __launch_bounds__(kThreads)
    from_floats(ScaleShape s, DType scale, const X* x, const void* scales, const Y* zeros, int low, int high,
                Y* y) {
  using C = Compute<X>;
  for (std::int64_t i = thread_number(); i < s.count; i += thread_count()) {
    const std::int64_t at = scale_index(s, i);
    y[i] = static_cast<Y>(
        round_to<C>(widen(x[i]) / scale_at<C>(scale, scales, at), zeros[s.one_zero ? 0 : at], low, high));
  }
}

template <class C, class Y>
__global__ void __launch_bounds__(kThreads)
    from_sums(ScaleShape s, DType scale, const int* x, const void* scales, const Y* zeros, int low, int high,
              Y* y) {
  for (std::int64_t i = thread_number(); i < s.count; i += thread_count()) {
    const std::int64_t at = scale_index(s, i);
    y[i] = static_cast<Y>(round_to<C>(static_cast<C>(x[i]) * scale_at<C>(scale, scales, at),
                                      zeros[s.one_zero ? 0 : at], low, high));
  }
}

template <class X, class Y>
__global__ void __launch_bounds__(kThreads)
    to_floats(ScaleShape s, DType scale, const X* x, const void* scales, const X* zeros, Y* y) {
  using C = Compute<Y>;
  for (std::int64_t i = thread_number(); i < s.count; i += thread_count()) {
    const std::int64_t at = scale_index(s, i);
    const std::int64_t difference = std::int64_t{x[i]} - std::int64_t{zeros[s.one_zero ? 0 : at]};
    y[i] = narrow<Y>(static_cast<C>(difference) * scale_at<C>(scale, scales, at));
  }
}

// Calls f.operator()<T>() with the type of the small integers.
template <class F>
void dispatch_small(DType dtype, F&& f) {
  if (dtype == DType::u8) return f.template operator()<std::uint8_t>();
  if (dtype == DType::i8) return f.template operator()<std::int8_t>();
  f.template operator()<std::int32_t>();
}

}  // namespace

void quantize(const ScaleShape& s, const QuantizeTensors& t, int low, int high, cudaStream_t stream) {
  const unsigned blocks = blocks_striding(s.count);
  dispatch_small(t.y, [&]<class Y>() {
    const auto* zeros = static_cast<const Y*>(t.zeros);
    auto* to = static_cast<Y*>(t.to);
    const auto sums = [&]<class C>() {
      from_sums<C><<<blocks, kThreads, 0, stream>>>(s, t.scale, static_cast<const int*>(t.from), t.scales,
                                                    zeros, low, high, to);
    };
    if (t.x != DType::i32)
      dispatch_floats(t.x, [&]<class X>() {
        from_floats<<<blocks, kThreads, 0, stream>>>(s, t.scale, static_cast<const X*>(t.from), t.scales,
                                                     zeros, low, high, to);
      });
    else if (t.scale == DType::f64)
      sums.template operator()<double>();
    else
      sums.template operator()<float>();
  });
  HEADROOM_CUDA_LAUNCHED();
}

void dequantize(const ScaleShape& s, const QuantizeTensors& t, cudaStream_t stream) {
  dispatch_small(t.x, [&]<class X>() {
    dispatch_floats(t.y, [&]<class Y>() {
      to_floats<<<blocks_striding(s.count), kThreads, 0, stream>>>(s, t.scale, static_cast<const X*>(t.from),
                                                                   t.scales, static_cast<const X*>(t.zeros),
                                                                   static_cast<Y*>(t.to));
    });
  });
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
