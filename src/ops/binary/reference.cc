#include <cmath>

#include "ops/binary/binary.h"
#include "ops/broadcast.h"

namespace headroom {
namespace {

template <class T>
T apply(std::string_view op, T a, T b) {
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

}  // namespace

Launcher binary_reference(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [op = p.op, a = p.inputs[0].shape, b = p.inputs[1].shape,
            y = p.outputs[0].shape](const LaunchArgs& args) {
      for (std::int64_t i = 0; i < y.numel(); ++i)
        args.out<T>(0)[i] =
            apply(op, args.in<T>(0)[broadcast_index(y, a, i)], args.in<T>(1)[broadcast_index(y, b, i)]);
    };
  });
}

Launcher pow_grad_reference(const Problem& p, const Capabilities&) {
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

}  // namespace headroom
