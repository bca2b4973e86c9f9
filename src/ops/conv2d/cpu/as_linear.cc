// A window that covers the whole input makes the convolution a matrix product over the batch, with nothing to
// unroll.
#include "ops/activation/after_gemm.h"
#include "ops/conv2d/cpu/multiply.h"

namespace headroom {
namespace conv2d_cpu_as_linear_cc {
namespace {

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  if (!c.covers_input()) return refuse("the window does not cover the whole input");
  if (c.groups != 1) return refuse("grouped");
  return accept();
}

Work work(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  return least_work(p, target).with("cpu.gemm", ordinary_unit(p.outputs[0].dtype),
                                    {c.batch, c.maps, c.depth()});
}

template <bool kLibrary>
Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [c = parse_conv2d(p), op = p.op](const LaunchArgs& a) {
      const std::int64_t n = c.batch, m = c.maps, k = c.depth();
      const T *first = a.in<T>(0), *second = a.in<T>(1);
      T* out = a.out<T>(0);
      if (op == "conv2d_grad_input")
        return multiply<kLibrary>(false, false, n, k, m, T{1}, first, m, second, k, T{0}, out, k);
      if (op == "conv2d_grad_weight")
        return multiply<kLibrary>(true, false, m, k, n, T{1}, second, m, first, k, T{0}, out, k);
      multiply<kLibrary>(false, true, n, m, k, T{1}, first, k, second, k, T{0}, out, m,
                         bias_and_activation(c.bias ? a.in<T>(2) : nullptr, c.activation));
    };
  });
}

}  // namespace
}  // namespace conv2d_cpu_as_linear_cc

Kernel conv2d_cpu_as_linear() {
  using namespace conv2d_cpu_as_linear_cc;
  return {.name = "cpu:as_linear", .accepts = accepts, .work = work, .prepare = prepare<false>};
}

Kernel conv2d_cpu_as_linear_blas() {
  using namespace conv2d_cpu_as_linear_cc;
  return {.name = "cpu:as_linear_blas",
          .accepts = accepts,
          .work = work,
          .prepare = prepare<true>,
          .vendor = true};
}

}  // namespace headroom
