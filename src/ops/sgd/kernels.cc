#include "ops/cpu/parallel.h"
#include "ops/sgd/sgd.h"

namespace headroom {

// Outputs share storage with inputs: each element is read whole before it is written.
Launcher sgd_reference(const Problem& problem, const Capabilities&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [sgd = sgd_problem(problem), inputs = problem.inputs](const LaunchArgs& a) {
      const T rate = static_cast<T>(*a.in<double>(0)), momentum = static_cast<T>(sgd.momentum);
      for (std::size_t i = 0; i < sgd.tensors.size(); ++i)
        for (std::int64_t k = 0; k < inputs[sgd.in(i)].shape.numel(); ++k) {
          const T p = a.in<T>(sgd.in(i))[k];
          const T g = a.in<T>(sgd.in(i) + 1)[k] + static_cast<T>(sgd.l2[i]) * p;
          T step = g;
          if (sgd.momentum > 0) {
            const T m = momentum * a.in<T>(sgd.in(i) + 2)[k] + g;
            a.out<T>(sgd.out(i) + 1)[k] = m;
            step = sgd.nesterov ? g + momentum * m : m;
          }
          a.out<T>(sgd.out(i))[k] = p - rate * step;
        }
    };
  });
}

namespace {

template <class T>
void plain(std::int64_t n, T rate, T l2, const T* g, const T* p, T* p_out) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) p_out[k] = p[k] - rate * (g[k] + l2 * p[k]);
}

template <bool Nesterov, class T>
void heavy_ball(std::int64_t n, T rate, T l2, T momentum, const T* g, const T* p, const T* m, T* p_out,
                T* m_out) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) {
    const T gradient = g[k] + l2 * p[k];
    const T speed = momentum * m[k] + gradient;
    p_out[k] = p[k] - rate * (Nesterov ? gradient + momentum * speed : speed);
    m_out[k] = speed;
  }
}

std::vector<Case> cases() {
  using Integers = std::vector<std::int64_t>;
  const Attr on{std::int64_t{1}};
  const std::vector<Attrs> settings = {
      {},
      {{"l2", 0.3}, {"penalized", Integers{1, 0, 1}}},
      {{"momentum", 0.9}, {"l2", 0.3}, {"penalized", Integers{0, 1, 0}}},
      {{"momentum", 0.9}, {"nesterov", on}},
      {{"momentum", 0.5}, {"nesterov", on}, {"l2", 0.1}, {"penalized", Integers{1, 1, 1}}}};
  const std::vector<std::vector<Shape>> networks = {
      {{7, 3}, {5}, {1}}, {{33, 1001}, {1001}, {1001, 10}}};  // the second is shared among threads
  std::vector<Case> list;
  for (const Attrs& attrs : settings)
    for (const auto& network : networks) {
      Case c{.tier = Tier::ci,
             .inputs = {{1}},
             .attrs = attrs,
             .fills = {{Fill::Kind::constant, 0.125}},
             .dtypes = {DType::f64}};
      for (const Shape& shape : network)
        c.inputs.insert(c.inputs.end(), attrs.has("momentum") ? 3 : 2, shape);
      list.push_back(std::move(c));
    }
  return list;
}

}  // namespace

Launcher sgd_one_pass(const Problem& problem, const Capabilities&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [sgd = sgd_problem(problem)](const LaunchArgs& a) {
      const T rate = static_cast<T>(*a.in<double>(0)), momentum = static_cast<T>(sgd.momentum);
      auto update = [&](std::size_t i, std::int64_t from, std::int64_t to) {
        const std::size_t in = sgd.in(i), out = sgd.out(i);
        const T* p = a.in<T>(in) + from;
        const T* g = a.in<T>(in + 1) + from;
        const T l2 = static_cast<T>(sgd.l2[i]);
        T* p_out = a.out<T>(out) + from;
        if (sgd.momentum == 0) return plain(to - from, rate, l2, g, p, p_out);
        const T* m = a.in<T>(in + 2) + from;
        T* m_out = a.out<T>(out + 1) + from;
        const auto step = sgd.nesterov ? heavy_ball<true, T> : heavy_ball<false, T>;
        step(to - from, rate, l2, momentum, g, p, m, p_out, m_out);
      };
      parallel_for(sgd.tensors.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
        sgd.tensors.each_piece(begin, end, update);
      });
    };
  });
}

std::vector<Operator> sgd_operators() {
  return {{.schema = sgd_schema(),
           .kernels = {{.name = "cpu:one_pass", .prepare = sgd_one_pass},
                       {.name = "reference", .prepare = sgd_reference}},
           .cases = cases()}};
}

}  // namespace headroom
