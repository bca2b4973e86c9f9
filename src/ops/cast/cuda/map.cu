#include "ops/cast/cuda/map.h"

#include "ops/cast/convert.h"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {
namespace {

template <class T>
inline constexpr bool kNarrow = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

// Every result is rounded once: not by way of fp32 where that would round before.
template <class From, class To>
__device__ To converted(From x) {
  if constexpr (std::is_same_v<From, To>)
    return x;
  else if constexpr (kNarrow<From>)
    return converted<float, To>(widen(x));
  else if constexpr (kNarrow<To> && std::is_same_v<From, float>)
    return narrow<To>(x);
  else if constexpr (std::is_same_v<To, Half>)
    return __double2half(static_cast<double>(x));  // int64 that fp64 rounds are far beyond fp16
  else if constexpr (std::is_same_v<To, Brain> && std::is_same_v<From, std::int64_t>)
    return __ll2bfloat16_rn(x);
  else if constexpr (std::is_same_v<To, Brain>)
    return __double2bfloat16(static_cast<double>(x));
  else
    return convert<From, To>(x);
}

template <class From, class To>
__device__ To converted(From x, Through through) {
  if (through == Through::fp16) return converted<Half, To>(converted<From, Half>(x));
  if (through == Through::bf16) return converted<Brain, To>(converted<From, Brain>(x));
  return converted<From, To>(x);
}

template <class From, class To>
__device__ To scaled(From x, double scale, Through through) {
  if constexpr (kNarrow<From>)
    return converted<float, To>(widen(x) * static_cast<float>(scale), through);
  else if constexpr (std::is_floating_point_v<From>)
    return converted<From, To>(x * static_cast<From>(scale), through);
  else
    return converted<From, To>(x, through);
}

// As many elements at once as 16 bytes hold of the wider type.
template <class From, class To>
__global__ void convert_all(std::int64_t n, bool whole, double scale, Through through, const From* x, To* y) {
  constexpr int kWide = sizeof(From) > sizeof(To) ? kPack<From> : kPack<To>, kAtOnce = 2;
  using In = Pack<From, kWide>;
  using Out = Pack<To, kWide>;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * kAtOnce + threadIdx.x;
  In in[kAtOnce];
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const std::int64_t i = (first + u * kThreads) * kWide;
    if (whole && i + kWide <= n)
      in[u] = *reinterpret_cast<const In*>(x + i);
    else
#pragma unroll
      for (int k = 0; k < kWide; ++k)
        if (i + k < n) in[u].v[k] = x[i + k];
  }
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const std::int64_t i = (first + u * kThreads) * kWide;
    if (i >= n) break;
    Out out;
#pragma unroll
    for (int k = 0; k < kWide; ++k)
      if (i + k < n) out.v[k] = scaled<From, To>(in[u].v[k], scale, through);
    if (whole && i + kWide <= n)
      *reinterpret_cast<Out*>(y + i) = out;
    else
#pragma unroll
      for (int k = 0; k < kWide; ++k)
        if (i + k < n) y[i + k] = out.v[k];
  }
}

template <class F>
void dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::i8:
      return f.template operator()<std::int8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
    default:
      return dispatch_floats(dtype, f);
  }
}

}  // namespace

void cast(DType from, DType to, std::int64_t n, double scale, Through through, const void* x, void* y,
          cudaStream_t stream) {
  if (from == DType::boolean) from = DType::u8;  // 0 or 1: read alike
  const bool whole = aligned(x) && aligned(y);
  const auto run = [&]<class From, class To>() {
    constexpr int kWide = sizeof(From) > sizeof(To) ? kPack<From> : kPack<To>;
    convert_all<<<blocks_for((n + kWide - 1) / kWide, kThreads * 2), kThreads, 0, stream>>>(
        n, whole, scale, through, static_cast<const From*>(x), static_cast<To*>(y));
    HEADROOM_CUDA_LAUNCHED();
  };
  dispatch(from, [&]<class From>() {
    if constexpr (!std::is_same_v<From, bool>)
      dispatch(to, [&]<class To>() { run.template operator()<From, To>(); });
  });
}

}  // namespace headroom::cuda
