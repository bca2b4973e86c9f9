#include "ops/add/add.h"

#include "graph/graph.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"

namespace headroom {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("add", in, 2);
  expect_float("add", in[0]);
  expect_same("add", in[0], in[1]);
  return {in[0]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  return {c.output_gradients[0], c.output_gradients[0]};
}

Launcher reference(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      for (std::int64_t i = 0; i < n; ++i) a.out<T>(0)[i] = a.in<T>(0)[i] + a.in<T>(1)[i];
    };
  });
}

Launcher vectorized(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [n = p.outputs[0].shape.numel()](const LaunchArgs& args) {
      const T* a = args.in<T>(0);
      const T* b = args.in<T>(1);
      T* y = args.out<T>(0);
      parallel_for(n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) y[i] = a[i] + b[i];
      });
    };
  });
}

}  // namespace

std::vector<Operator> add_operators() {
  std::vector<Case> cases;
  for (const Shape& shape : std::vector<Shape>{{1}, {7}, {64, 10}, {3, 5, 7, 11}, {40000}})
    cases.push_back({.tier = Tier::ci, .inputs = {shape, shape}});
  return {{.schema = {.name = "add", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = {{.name = "cpu:vector", .prepare = vectorized},
                       {.name = "reference", .prepare = reference}},
           .cases = cases,
           .exact = true}};
}

}  // namespace headroom
