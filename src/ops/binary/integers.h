#pragma once

// Arithmetic on int64 and int32, one pair at a time: what the kernels of the CPU and of a GPU share. It wraps
// around in unsigned numbers, whose overflow is defined, and never stops the machine.

#include <cstdint>
#include <type_traits>

#include "base/host_device.h"

namespace headroom {

enum class IntegerOp { add, sub, mul, div, maximum, minimum, mod, fmod };

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
