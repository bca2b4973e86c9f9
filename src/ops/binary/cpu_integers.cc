#include "ops/binary/binary.h"
#include "ops/binary/integers.h"
#include "ops/broadcast.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"

namespace headroom {

IntegerOp integer_op(const Problem& p) {
  using enum IntegerOp;
  if (p.op == "add") return add;
  if (p.op == "sub") return sub;
  if (p.op == "mul") return mul;
  if (p.op == "div") return div;
  if (p.op == "maximum") return maximum;
  if (p.op == "minimum") return minimum;
  return p.attrs.integer("fmod") == 1 ? fmod : mod;
}

namespace {

template <IntegerOp op, class T>
void over_rows(const BroadcastLoop& loop, const T* a, const T* b, T* y) {
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
auto rows_of(IntegerOp op) {
  using enum IntegerOp;
  switch (op) {
    case add:
      return over_rows<add, T>;
    case sub:
      return over_rows<sub, T>;
    case mul:
      return over_rows<mul, T>;
    case div:
      return over_rows<div, T>;
    case maximum:
      return over_rows<maximum, T>;
    case minimum:
      return over_rows<minimum, T>;
    case fmod:
      return over_rows<fmod, T>;
    default:
      return over_rows<mod, T>;
  }
}

}  // namespace

Launcher integer_rows(const Problem& p, const LaunchContext&) {
  return dispatch_labels(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [run = rows_of<T>(integer_op(p)),
            loop = broadcast_loop(p.outputs[0].shape, {p.inputs[0].shape, p.inputs[1].shape})](
               const LaunchArgs& a) { run(loop, a.in<T>(0), a.in<T>(1), a.out<T>(0)); };
  });
}

}  // namespace headroom
