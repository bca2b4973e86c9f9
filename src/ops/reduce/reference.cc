#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/broadcast.h"
#include "ops/expect.h"
#include "ops/reduce/reduce.h"
#include "ops/stored.h"

namespace headroom {
namespace {

// Calls body(i) for every element of the input that result `result` is made of.
template <class Body>
void each_member(const ReduceProblem& r, std::int64_t result, Body&& body) {
  for (std::int64_t member = 0; member < r.count; ++member) {
    std::int64_t i = 0, stride = 1, of_result = result, of_member = member;
    for (int axis = r.input.rank(); axis-- > 0;) {
      std::int64_t& left = r.kept[axis] == 1 ? of_member : of_result;
      i += left % r.input[axis] * stride;
      left /= r.input[axis];
      stride *= r.input[axis];
    }
    body(i);
  }
}

template <class T>
bool exceeds(T x, T most) {
  return x > most || std::isnan(x);
}

Launcher prepare_integers(const Problem& p) {
  return dispatch_labels(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [r = reduce_problem(p), max = p.op == "reduce_max"](const LaunchArgs& a) {
      for (std::int64_t k = 0; k < r.kept.numel(); ++k) {
        std::uint64_t sum = 0;
        T most = std::numeric_limits<T>::min();
        each_member(r, k, [&](std::int64_t i) {
          const T x = a.in<T>(0)[i];
          sum += static_cast<std::uint64_t>(std::int64_t{x});
          most = std::max(most, x);
        });
        a.out<T>(0)[k] = max ? most : static_cast<T>(sum);
      }
    };
  });
}

Launcher prepare_floats(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [r = reduce_problem(p), op = p.op](const LaunchArgs& a) {
      for (std::int64_t k = 0; k < r.kept.numel(); ++k) {
        long double sum = 0;  // wider than any kernel's: a long sum must not blur the definition
        T most = -std::numeric_limits<T>::infinity();
        each_member(r, k, [&](std::int64_t i) {
          const T x = a.in<T>(0)[i];
          sum += x;
          if (!std::isnan(most) && exceeds(x, most)) most = x;
        });
        if (op == "reduce_mean") sum /= static_cast<long double>(r.count);
        a.out<T>(0)[k] = op == "reduce_max" ? most : static_cast<T>(sum);
      }
    };
  });
}

Launcher prepare_max_grad(const Problem& p) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [r = reduce_problem(p)](const LaunchArgs& a) {
      const T *dy = a.in<T>(0), *x = a.in<T>(1), *y = a.in<T>(2);
      for (std::int64_t k = 0; k < r.kept.numel(); ++k) {
        T ties = 0;
        each_member(r, k, [&](std::int64_t i) { ties += x[i] == y[k] ? T{1} : T{0}; });
        each_member(r, k,
                    [&](std::int64_t i) { a.out<T>(0)[i] = (x[i] == y[k] ? T{1} : T{0}) * (dy[k] / ties); });
      }
    };
  });
}

Launcher prepare_expand(const Problem& p) {
  if (!is_float(p.outputs[0].dtype))
    return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
      return [x = p.inputs[0].shape, y = p.outputs[0].shape](const LaunchArgs& a) {
        for (std::int64_t i = 0; i < y.numel(); ++i) a.out<T>(0)[i] = a.in<T>(0)[broadcast_index(y, x, i)];
      };
    });
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [x = p.inputs[0].shape, y = p.outputs[0].shape,
            scale = static_cast<T>(p.attrs.real("scale", 1))](const LaunchArgs& a) {
      for (std::int64_t i = 0; i < y.numel(); ++i)
        a.out<T>(0)[i] = scale * a.in<T>(0)[broadcast_index(y, x, i)];
    };
  });
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  if (p.op == "expand") return prepare_expand(p);
  if (p.op == "reduce_max_grad") return prepare_max_grad(p);
  return is_float(p.outputs[0].dtype) ? prepare_floats(p) : prepare_integers(p);
}

}  // namespace

Kernel reduce_reference() { return {.name = "reference", .prepare = prepare}; }  // and of expand

}  // namespace headroom
