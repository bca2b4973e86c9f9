#pragma once

// What cpu:vector and the reference share: every element of a tensor converted, by the rules of convert.h.

#include <algorithm>
#include <array>

#include "base/half.h"
#include "ops/cast/cast.h"
#include "ops/cast/convert.h"
#include "ops/cpu/parallel.h"

namespace headroom::casts {

// What the CPU converts; a GPU has 16-bit floats as well.
inline constexpr std::array kTypes = {DType::f64, DType::f32, DType::i64,    DType::i32,
                                      DType::u8,  DType::i8,  DType::boolean};

inline Verdict accepts(const Problem& p, const Target&) {
  for (const TensorType& type : {p.inputs[0], p.outputs[0]})
    if (std::find(kTypes.begin(), kTypes.end(), type.dtype) == kTypes.end())
      return refuse(fmt::format("no {} arithmetic on the CPU", name_of(type.dtype)));
  return accept();
}

// One C++ type for each element type: bool differs from uint8 in what is stored, not in how it is read.
template <class F>
Launcher dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
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
      fail("cast does not take {}", name_of(dtype));
  }
}

template <class From, class To>
Launcher convert_through(std::int64_t n, From scale, DType through) {
  return [=](const LaunchArgs& a) {
    const From* x = a.in<From>(0);
    To* y = a.out<To>(0);
    parallel_for(n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = static_cast<To>(half_value(through, half_bits(through, static_cast<double>(x[i] * scale))));
    });
  };
}

template <class From, class To>
inline To scaled(From x, From scale) {
  if constexpr (std::is_floating_point_v<From>) return convert<From, To>(x * scale);
  return convert<From, To>(x);
}

template <bool in_parallel>
Launcher convert_all(const Problem& p, const LaunchContext&) {
  const std::int64_t n = p.inputs[0].shape.numel();
  return dispatch(p.inputs[0].dtype, [&]<class From>() {
    return dispatch(p.outputs[0].dtype, [&]<class To>() -> Launcher {
      if constexpr (std::is_floating_point_v<To>)
        if (p.attrs.has("through"))
          return convert_through<From, To>(n, static_cast<From>(p.attrs.real("scale", 1)),
                                           *parse_dtype(p.attrs.text("through")));
      return [n, scale = static_cast<From>(p.attrs.real("scale", 1))](const LaunchArgs& a) {
        const From* x = a.in<From>(0);
        To* y = a.out<To>(0);
        if (!in_parallel)
          for (std::int64_t i = 0; i < n; ++i) y[i] = scaled<From, To>(x[i], scale);
        else
          parallel_for(n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
#pragma omp simd
            for (std::int64_t i = begin; i < end; ++i) y[i] = scaled<From, To>(x[i], scale);
          });
      };
    });
  });
}

}  // namespace headroom::casts
