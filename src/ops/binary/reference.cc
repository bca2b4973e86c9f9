#include <cmath>

#include "ops/binary/binary.h"
#include "ops/binary/integers.h"
#include "ops/broadcast.h"
#include "ops/expect.h"

namespace headroom {
namespace binary_reference_cc {
namespace {

template <class T>
T floor_mod(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
T apply(std::string_view op, T a, T b) {
  if (op == "maximum") return a > b || a != a ? a : b;
  if (op == "minimum") return a < b || a != a ? a : b;
  if (op == "fmod") return std::fmod(a, b);
  if (op == "mod") return floor_mod(a, b);
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  return std::pow(a, b);
}

template <class T>
T grad_base(T dy, T x, T e) {
  return e == 0 ? T{0} : dy * (e * std::pow(x, e - 1));
}

template <class T>
T grad_exponent(T dy, T x, T y) {
  return x == 0 && std::isfinite(y) ? T{0} : dy * (y * std::log(x));
}

// The two meanings of mod under two names.
std::string named(const Problem& p) { return p.op == "mod" && p.attrs.integer("fmod") == 1 ? "fmod" : p.op; }

Launcher prepare_integers(const Problem& p) {
  return dispatch_labels(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [op = integer_op(p), a = p.inputs[0].shape, b = p.inputs[1].shape,
            y = p.outputs[0].shape](const LaunchArgs& args) {
      for (std::int64_t i = 0; i < y.numel(); ++i)
        args.out<T>(0)[i] = apply_integer(op, args.in<T>(0)[broadcast_index(y, a, i)],
                                          args.in<T>(1)[broadcast_index(y, b, i)]);
    };
  });
}

Launcher prepare_floats(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [op = named(p), a = p.inputs[0].shape, b = p.inputs[1].shape,
            y = p.outputs[0].shape](const LaunchArgs& args) {
      for (std::int64_t i = 0; i < y.numel(); ++i)
        args.out<T>(0)[i] =
            apply(op, args.in<T>(0)[broadcast_index(y, a, i)], args.in<T>(1)[broadcast_index(y, b, i)]);
    };
  });
}

Launcher prepare_pow_grad(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [base = p.op == "pow_grad_base", x = p.inputs[1].shape, z = p.inputs[2].shape,
            y = p.outputs[0].shape](const LaunchArgs& args) {
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        const T dy = args.in<T>(0)[i];
        const T u = args.in<T>(1)[broadcast_index(y, x, i)], v = args.in<T>(2)[broadcast_index(y, z, i)];
        args.out<T>(0)[i] = base ? grad_base(dy, u, v) : grad_exponent(dy, u, v);
      }
    };
  });
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  if (p.op.starts_with("pow_grad")) return prepare_pow_grad(p);
  return is_float(p.outputs[0].dtype) ? prepare_floats(p) : prepare_integers(p);
}

}  // namespace
}  // namespace binary_reference_cc

Kernel binary_reference() {
  using namespace binary_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
