#include "ops/squared_error/squared_error.h"

#include <algorithm>

#include "graph/graph.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/simd.h"
#include "ops/expect.h"

namespace headroom {

ErrorProblem error_problem(const Problem& p) {
  const Shape& shape = p.inputs[p.op == "squared_error" ? 0 : 1].shape;
  const std::int64_t n = shape.numel(), batch = p.attrs.integer("global_batch");
  return {.n = n,
          .count = batch > 0 ? static_cast<double>(n / shape[0]) * static_cast<double>(batch)
                             : static_cast<double>(n)};
}

namespace squared_error_cc {
namespace {

constexpr std::int64_t kChunk = ErrorProblem::kChunk;

void expect_rows(std::string_view op, const TensorType& a, const TensorType& b, const Attrs& attrs) {
  expect_float(op, a);
  expect_same(op, a, b);
  if (a.shape.rank() < 1) reject("{} takes rows [N, …], not a scalar", op);
  if (const auto batch = attrs.integer("global_batch"); batch < 0)
    reject("{}: a global batch of {} rows", op, batch);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("squared_error", in, 2);
  expect_rows("squared_error", in[0], in[1], attrs);
  return {{{1}, in[0].dtype}};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("squared_error_grad", in, 3);
  expect_rows("squared_error_grad", in[1], in[2], attrs);
  expect_same("squared_error_grad", in[0], {{1}, in[1].dtype});
  return {in[1]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(error_problem(p).n);
  c.multiply_add = p.op == "squared_error" ? 2 * n : 0;
  c.other = p.op == "squared_error" ? n : 2 * n;
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const ValueId dloss = c.output_gradients[0], a = c.input(0), b = c.input(1);
  return {c.needed[0] ? c.emit("squared_error_grad", {dloss, a, b}, c.attrs()) : kNone,
          c.needed[1] ? c.emit("squared_error_grad", {dloss, b, a}, c.attrs()) : kNone};
}

Launcher reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = error_problem(problem)](const LaunchArgs& a) {
      long double sum = 0;
      for (std::int64_t i = 0; i < p.n; ++i) {
        const long double d = static_cast<long double>(a.in<T>(0)[i]) - a.in<T>(1)[i];
        sum += d * d;
      }
      *a.out<T>(0) = static_cast<T>(sum / static_cast<long double>(p.count));
    };
  });
}

Launcher reference_grad(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = error_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t i = 0; i < p.n; ++i)
        a.out<T>(0)[i] = *a.in<T>(0) * 2 * (a.in<T>(1)[i] - a.in<T>(2)[i]) / static_cast<T>(p.count);
    };
  });
}

// Four vectors of partial sums hide the latency of the addition.
template <class T>
double chunk_error(std::int64_t n, const T* a, const T* b) {
  using simd::kLanes;
  simd::Vec<T> part[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>)
    for (int k = 0; k < 4; ++k) {
      const simd::Vec<T> d = simd::load(a + i + k * kLanes<T>) - simd::load(b + i + k * kLanes<T>);
      part[k] += d * d;
    }
  double sum = double{simd::sum<T>((part[0] + part[1]) + (part[2] + part[3]))};
  for (; i < n; ++i) sum += double{a[i] - b[i]} * double{a[i] - b[i]};
  return sum;
}

std::size_t workspace(const Problem& p, const Target&) {
  return static_cast<std::size_t>(error_problem(p).chunks()) * sizeof(double);
}

Launcher chunked(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = error_problem(problem)](const LaunchArgs& a) {
      auto* sums = static_cast<double*>(a.workspace);
      parallel_for(p.chunks(), 2, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t k = begin; k < end; ++k) {
          const std::int64_t from = k * kChunk;
          sums[k] = chunk_error(std::min(kChunk, p.n - from), a.in<T>(0) + from, a.in<T>(1) + from);
        }
      });
      double total = 0;
      for (std::int64_t k = 0; k < p.chunks(); ++k) total += sums[k];
      *a.out<T>(0) = static_cast<T>(total / p.count);
    };
  });
}

Launcher vector_grad(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = error_problem(problem)](const LaunchArgs& args) {
      const T scale = static_cast<T>(2 * double{*args.in<T>(0)} / p.count);
      const T *a = args.in<T>(1), *b = args.in<T>(2);
      T* out = args.out<T>(0);
      parallel_for(p.n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
        simd::map2(end - begin, a + begin, b + begin, out + begin,
                   [=](simd::Vec<T> x, simd::Vec<T> t) { return (x - t) * scale; });
      });
    };
  });
}

std::size_t workspace_cuda(const Problem& p, const Target&) {
  return static_cast<std::size_t>(error_problem(p).blocks()) * sizeof(double);
}

Kernel cuda_kernel(std::string_view name, Launcher (*prepare)(const Problem&, const LaunchContext&)) {
  return {.name = name, .device = DeviceKind::cuda, .accepts = accepts_cuda_floats, .prepare = prepare};
}

std::vector<Case> one_hot_cases() {
  std::vector<Case> cases;
  const auto add = [&](Tier tier, std::int64_t rows, std::int64_t classes, DType labels,
                       const std::string& dtype) {
    cases.push_back({.tier = tier,
                     .inputs = {{rows}},
                     .attrs = {{"classes", classes}, {"dtype", dtype}},
                     .fills = {{Fill::Kind::label, static_cast<double>(classes)}},
                     .dtypes = {labels}});
  };
  add(Tier::ci, 1, 1, DType::i32, "fp32");
  add(Tier::ci, 17, 10, DType::i64, "fp64");
  add(Tier::smoke, 3000, 10, DType::i32, "fp32");
  add(Tier::perf, 26214, 10, DType::i32, "fp32");
  add(Tier::perf, 4096, 1024, DType::i32, "fp32");
  return cases;
}

}  // namespace
}  // namespace squared_error_cc

std::vector<Operator> squared_error_operators() {
  using namespace squared_error_cc;
  std::vector<Case> forward, backward;
  const auto add = [&](Tier tier, const Shape& shape, std::int64_t batch = 0) {
    Attrs attrs;
    if (batch > 0) attrs.set("global_batch", batch);
    forward.push_back({.tier = tier, .inputs = {shape, shape}, .attrs = attrs});
    backward.push_back({.tier = tier, .inputs = {{1}, shape, shape}, .attrs = attrs});
  };
  add(Tier::ci, {1});
  add(Tier::ci, {5, 3});
  add(Tier::ci, {17, 10}, 100);
  add(Tier::ci, {2, 3, 5, 7}, 8);
  add(Tier::smoke, {3000, 10});
  add(Tier::smoke, {8195}, 16390);
  add(Tier::perf, {4096, 1024});
  add(Tier::perf, {256, 1024});
  return {{.schema = one_hot_schema(),
           .kernels = {cuda_kernel("cuda:map", HEADROOM_CUDA(prepare_one_hot_cuda)),
                       {.name = "cpu:rows", .prepare = one_hot_rows},
                       {.name = "reference", .prepare = one_hot_reference}},
           .cases = one_hot_cases(),
           .exact = true},
          {.schema = {.name = "squared_error", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = {{.name = "cuda:chunks",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_squared_error_cuda),
                        .workspace = workspace_cuda,
                        .shares_counter = true},
                       {.name = "cpu:chunks", .prepare = chunked, .workspace = workspace},
                       {.name = "reference", .prepare = reference}},
           .cases = forward},
          {.schema = {.name = "squared_error_grad", .infer = infer_grad, .cost = cost},
           .kernels = {cuda_kernel("cuda:map", HEADROOM_CUDA(prepare_squared_error_grad_cuda)),
                       {.name = "cpu:vector", .prepare = vector_grad},
                       {.name = "reference", .prepare = reference_grad}},
           .cases = backward}};
}

}  // namespace headroom
