#include "ops/matmul/matmul.h"

#include "ops/cpu/gemm.h"

namespace headroom {
namespace {

struct Sizes {
  bool trans_a, trans_b;
  std::int64_t m, n, k, lda, ldb;
};

Sizes sizes_of(const std::vector<TensorType>& in, const Attrs& attrs) {
  const Shape &a = in.at(0).shape, &b = in.at(1).shape;
  const bool ta = attrs.integer("trans_a") != 0, tb = attrs.integer("trans_b") != 0;
  if (a.rank() != 2 || b.rank() != 2) reject("matmul takes two matrices, not {} and {}", a.str(), b.str());
  const Sizes s{ta, tb, a[ta ? 1 : 0], b[tb ? 0 : 1], a[ta ? 0 : 1], a[1], b[1]};
  if (s.k != b[tb ? 1 : 0])
    reject("matmul of {}{} and {}{}: {} columns meet {} rows", a.str(), ta ? " transposed" : "", b.str(),
           tb ? " transposed" : "", s.k, b[tb ? 1 : 0]);
  return s;
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const Sizes s = sizes_of(in, attrs);
  return {{{s.m, s.n}, in[0].dtype}};
}

Cost cost(const Problem& p) {
  const Sizes s = sizes_of(p.inputs, p.attrs);
  Cost c = traffic(p);
  c.multiply_add = 2.0 * double(s.m) * double(s.n) * double(s.k);
  return c;
}

// C = op(A) op(B); each gradient is again one product, read with the transpositions that undo op.
std::vector<ValueId> gradient(const GradientContext& c) {
  const bool ta = c.attrs().integer("trans_a") != 0, tb = c.attrs().integer("trans_b") != 0;
  const ValueId a = c.input(0), b = c.input(1), dc = c.output_gradients[0];
  auto product = [&](ValueId x, bool tx, ValueId y, bool ty) {
    return c.emit("matmul", {x, y}, {{"trans_a", std::int64_t{tx}}, {"trans_b", std::int64_t{ty}}});
  };
  ValueId da = kNone, db = kNone;
  if (c.needed[0]) da = ta ? product(b, tb, dc, true) : product(dc, false, b, !tb);
  if (c.needed[1]) db = tb ? product(dc, true, a, ta) : product(a, !ta, dc, false);
  return {da, db};
}

Launcher reference(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = sizes_of(p.inputs, p.attrs)](const LaunchArgs& args) {
      const T *a = args.in<T>(0), *b = args.in<T>(1);
      T* c = args.out<T>(0);
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
          T sum = 0;
          for (std::int64_t k = 0; k < s.k; ++k)
            sum +=
                a[s.trans_a ? k * s.lda + i : i * s.lda + k] * b[s.trans_b ? j * s.ldb + k : k * s.ldb + j];
          c[i * s.n + j] = sum;
        }
    };
  });
}

Launcher blas(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = sizes_of(p.inputs, p.attrs)](const LaunchArgs& args) {
      gemm(s.trans_a, s.trans_b, s.m, s.n, s.k, T{1}, args.in<T>(0), s.lda, args.in<T>(1), s.ldb, T{0},
           args.out<T>(0), s.n);
    };
  });
}

Work blas_work(const Problem& p, const Capabilities& capabilities) {
  const Sizes s = sizes_of(p.inputs, p.attrs);
  Work work = least_work(p, capabilities);
  work.efficiency = gemm_efficiency(s.m, s.n, s.k);
  return work;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const Attrs plain{}, ta{{"trans_a", std::int64_t{1}}}, tb{{"trans_b", std::int64_t{1}}},
      both{{"trans_a", std::int64_t{1}}, {"trans_b", std::int64_t{1}}};
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 5, 7}, {37, 41, 43}, {64, 10, 129}}) {
    list.push_back({.tier = Tier::ci, .inputs = {{m, k}, {k, n}}, .attrs = plain});
    list.push_back({.tier = Tier::ci, .inputs = {{k, m}, {k, n}}, .attrs = ta});
    list.push_back({.tier = Tier::ci, .inputs = {{m, k}, {n, k}}, .attrs = tb});
    list.push_back({.tier = Tier::ci, .inputs = {{k, m}, {n, k}}, .attrs = both});
  }
  list.push_back({.tier = Tier::smoke, .inputs = {{599, 751}, {751, 433}}});
  list.push_back({.tier = Tier::perf, .inputs = {{2048, 2048}, {2048, 2048}}});
  return list;
}

}  // namespace

std::vector<Operator> matmul_operators() {
  return {{.schema = {.name = "matmul", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = {{.name = "cpu:blas", .work = blas_work, .prepare = blas},
                       {.name = "reference", .prepare = reference}},
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom
