#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype_kind.h"
#include "base/error.h"

namespace headroom {

std::size_t size_of(DType dtype);
std::string_view name_of(DType dtype);  // "fp64", "int32", …
std::optional<DType> parse_dtype(std::string_view name);
bool is_float(DType dtype);
constexpr bool is_8bit(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }  // integers
constexpr bool is_integer(DType dtype) {
  return dtype == DType::i64 || dtype == DType::i32 || is_8bit(dtype);
}
// f16 and bf16: 16-bit storage; values that need more precision (masters, statistics, losses) stay in fp32.
constexpr bool is_16bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
constexpr DType master_of(DType dtype) { return is_16bit(dtype) ? DType::f32 : dtype; }

// Half the distance from 1 to the next number: the relative error of one rounding.
double unit_roundoff(DType dtype);

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<std::int8_t>() {
  return DType::i8;
}

// Calls f.operator()<T>() with the C++ type the CPU computes this dtype in.
template <class F>
decltype(auto) dispatch_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    default:
      fail("the CPU computes in fp32 and fp64, not in {}", name_of(dtype));
  }
}

}  // namespace headroom
