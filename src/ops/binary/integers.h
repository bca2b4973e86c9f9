#pragma once

// Arithmetic on int64 and int32, one pair at a time: what the kernels of the CPU and of a GPU share. It wraps
// around in unsigned numbers, whose overflow is defined, and never stops the machine.

#include <cstdint>
#include <type_traits>

#include "base/host_device.h"

namespace headroom {

enum class IntegerOp {
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  mod,
  fmod,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,          // copies of the sign come in
  shift_right_logical,  // zeros come in
};

// By the number of bits or more, everything is shifted out. No negative number of bits is that small.
template <class T>
HEADROOM_HOST_DEVICE inline T shifted(IntegerOp op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr U kBits = 8 * sizeof(T);
  const auto by = static_cast<U>(b);
  if (by >= kBits) return op == IntegerOp::shift_right && a < 0 ? T{-1} : T{0};
  if (op == IntegerOp::shift_left) return static_cast<T>(static_cast<U>(a) << by);
  return op == IntegerOp::shift_right ? static_cast<T>(a >> by) : static_cast<T>(static_cast<U>(a) >> by);
}

template <class T>
HEADROOM_HOST_DEVICE inline T apply_integer(IntegerOp op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case IntegerOp::add:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case IntegerOp::sub:
      return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case IntegerOp::mul:
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case IntegerOp::div:
      // The least integer over -1 does not fit.
      return b == 0 ? T{0} : b == -1 ? static_cast<T>(U{0} - static_cast<U>(a)) : static_cast<T>(a / b);
    case IntegerOp::maximum:
      return a > b ? a : b;
    case IntegerOp::minimum:
      return a < b ? a : b;
    case IntegerOp::bit_and:
      return static_cast<T>(a & b);
    case IntegerOp::bit_or:
      return static_cast<T>(a | b);
    case IntegerOp::bit_xor:
      return static_cast<T>(a ^ b);
    case IntegerOp::shift_left:
    case IntegerOp::shift_right:
    case IntegerOp::shift_right_logical:
      return shifted(op, a, b);
    default: {
      if (b == 0 || b == -1) return 0;
      const T rest = static_cast<T>(a % b);
      return op == IntegerOp::mod && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
}

#ifndef __CUDACC__
struct Problem;
IntegerOp integer_op(const Problem& problem);
#endif

}  // namespace headroom
