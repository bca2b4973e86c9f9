// All but powers: vectors along the rows in which both operands either move or stand still. Integers take
// plain loops.
#include <cmath>

#include "ops/binary/binary.h"
#include "ops/binary/integers.h"
#include "ops/cpu/broadcast_map.h"
#include "ops/expect.h"

namespace headroom {
namespace binary_cpu_rows_cc {
namespace {

// By one number for a whole row: a product with its inverse, where that is a normal number. One rounding
// more, and 3 times as fast for 1 MB on a Neoverse V1, which divides a register in 3 cycles. fp64 stays
// exact.
template <class T>
struct Divide {
  using V = simd::Vec<T>;
  V operator()(V a, V b) const { return a / b; }
  static bool has_right(T b) {
    return std::is_same_v<T, float> && std::isnormal(b) && std::isnormal(T{1} / b);
  }
  static auto right(T b) {
    return [inverse = simd::broadcast(T{1} / b)](V a) { return a * inverse; };
  }
};

template <class T, class F>
Launcher over_rows(const Problem& p, F f) {
  return [loop = broadcast_loop(p.outputs[0].shape, {p.inputs[0].shape, p.inputs[1].shape}),
          f](const LaunchArgs& a) { broadcast_map2(loop, a.in<T>(0), a.in<T>(1), a.out<T>(0), f); };
}

Launcher prepare_floats(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    using V = simd::Vec<T>;
    if (p.op == "add") return over_rows<T>(p, [](V a, V b) { return a + b; });
    if (p.op == "sub") return over_rows<T>(p, [](V a, V b) { return a - b; });
    if (p.op == "mul") return over_rows<T>(p, [](V a, V b) { return a * b; });
    if (p.op == "maximum") return over_rows<T>(p, [](V a, V b) { return simd::max_or_nan(a, b); });
    if (p.op == "minimum") return over_rows<T>(p, [](V a, V b) { return -simd::max_or_nan(-a, -b); });
    return over_rows<T>(p, Divide<T>{});
  });
}

// Rare enough that numbers one by one will do.
Launcher prepare_mod(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    using V = simd::Vec<T>;
    return over_rows<T>(p, [floors = p.attrs.integer("fmod") == 0](V a, V b) {
      V y;
      for (int k = 0; k < simd::kLanes<T>; ++k) {
        const T rest = std::fmod(a[k], b[k]);
        const T with_sign = rest == 0                  ? std::copysign(rest, b[k])
                            : (rest < 0) != (b[k] < 0) ? rest + b[k]
                                                       : rest;
        y[k] = floors ? with_sign : rest;
      }
      return y;
    });
  });
}

template <IntegerOp op, class T>
void over_integers(const BroadcastLoop& loop, const T* a, const T* b, T* y) {
  const BroadcastLoop::Offsets step = loop.inner_step();
  parallel_for(loop.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    loop.each_row(begin, end, [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
      const T *u = a + offset[0], *v = b + offset[1];
      T* to = y + at;
      if (step[0] == 1 && step[1] == 1)
        for (std::int64_t k = 0; k < n; ++k) to[k] = apply_integer(op, u[k], v[k]);
      else
        for (std::int64_t k = 0; k < n; ++k) to[k] = apply_integer(op, u[k * step[0]], v[k * step[1]]);
    });
  });
}

template <class T>
auto integers_by(IntegerOp op) {
  using enum IntegerOp;
  switch (op) {
    case add:
      return over_integers<add, T>;
    case sub:
      return over_integers<sub, T>;
    case mul:
      return over_integers<mul, T>;
    case div:
      return over_integers<div, T>;
    case maximum:
      return over_integers<maximum, T>;
    case minimum:
      return over_integers<minimum, T>;
    case fmod:
      return over_integers<fmod, T>;
    case bit_and:
      return over_integers<bit_and, T>;
    case bit_or:
      return over_integers<bit_or, T>;
    case bit_xor:
      return over_integers<bit_xor, T>;
    case shift_left:
      return over_integers<shift_left, T>;
    case shift_right:
      return over_integers<shift_right, T>;
    case shift_right_logical:
      return over_integers<shift_right_logical, T>;
    default:
      return over_integers<mod, T>;
  }
}

Launcher prepare_integers(const Problem& p) {
  return dispatch_labels(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [run = integers_by<T>(integer_op(p)),
            loop = broadcast_loop(p.outputs[0].shape, {p.inputs[0].shape, p.inputs[1].shape})](
               const LaunchArgs& a) { run(loop, a.in<T>(0), a.in<T>(1), a.out<T>(0)); };
  });
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  if (!is_float(p.outputs[0].dtype)) return prepare_integers(p);
  return p.op == "mod" ? prepare_mod(p) : prepare_floats(p);
}

}  // namespace
}  // namespace binary_cpu_rows_cc

Kernel binary_cpu_rows() {
  using namespace binary_cpu_rows_cc;
  return {.name = "cpu:rows", .prepare = prepare};
}

}  // namespace headroom
