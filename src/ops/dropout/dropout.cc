#include "ops/dropout/dropout.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "graph/graph.h"
#include "ops/cpu/parallel.h"
#include "ops/dropout/philox_blocks.h"
#include "ops/expect.h"

namespace headroom {

std::uint64_t DropoutProblem::threshold() const {
  return static_cast<std::uint64_t>(std::llround(std::ldexp(rate, 32)));
}

std::uint64_t DropoutProblem::stream(double step) const {
  return stream_of(static_cast<std::uint64_t>(step), key);
}

DropoutProblem dropout_problem(const Problem& p) {
  return {.n = p.inputs[0].shape.numel(),
          .first = p.attrs.integer("first"),
          .rate = p.attrs.real("rate"),
          .seed = static_cast<std::uint64_t>(p.attrs.integer("seed")),
          .key = static_cast<std::uint64_t>(p.attrs.integer("key"))};
}

namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("dropout", in, 2);
  expect_float("dropout", in[0]);
  expect_same("dropout, its step", in[1], {{1}, DType::f64});
  if (const double rate = attrs.real("rate"); !(rate >= 0 && rate < 1))
    reject(Hint{"the share of elements to drop, from 0 to less than 1"}, "dropout: rate is {}", rate);
  if (attrs.integer("first") < 0) reject("dropout: first is {}", attrs.integer("first"));
  return {in[0]};
}

// Ten rounds of two products and four other operations for each four elements: what the generator takes.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = 17 * static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  return {c.emit("dropout", {c.output_gradients[0], c.input(1)}, c.attrs()), kNone};
}

Launcher reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = dropout_problem(problem)](const LaunchArgs& a) {
      const Philox random(p.seed, p.stream(*a.in<double>(1)));
      const T scale = static_cast<T>(1 / (1 - p.rate));
      for (std::int64_t i = 0; i < p.n; ++i) {
        const bool dropped = random.bits(static_cast<std::uint64_t>(p.first + i)) < p.threshold();
        a.out<T>(0)[i] = dropped ? T{0} : a.in<T>(0)[i] * scale;
      }
    };
  });
}

// The global elements [begin, end), a group of blocks at a time.
template <class T>
void drop(const DropoutProblem& p, std::uint64_t stream, std::int64_t begin, std::int64_t end, const T* x,
          T* y) {
  // A threshold of 2^32 would not fit: no rate below 1 has it but by rounding, and then all are dropped.
  const std::uint64_t threshold = p.threshold();
  const T scale = threshold > 0xFFFFFFFFu ? T{0} : static_cast<T>(1 / (1 - p.rate));
  const auto limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(threshold, 0xFFFFFFFFu));
  std::uint32_t bits[kPhiloxNumbers];
  while (begin < end) {
    const std::int64_t group = begin / kPhiloxNumbers, start = group * kPhiloxNumbers;
    const std::int64_t stop = std::min(end, start + kPhiloxNumbers);
    philox_numbers(p.seed, stream, static_cast<std::uint64_t>(group), bits);
    const std::uint32_t* from = bits + (begin - start);
    const T* in = x + (begin - p.first);
    T* out = y + (begin - p.first);
#pragma omp simd
    for (std::int64_t k = 0; k < stop - begin; ++k) {
      const T kept = in[k] * scale;
      out[k] = from[k] < limit ? T{0} : kept;
    }
    begin = stop;
  }
}

Launcher blocks(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = dropout_problem(problem)](const LaunchArgs& a) {
      const std::uint64_t stream = p.stream(*a.in<double>(1));
      parallel_for(p.n, kElementwiseGrain / 4, [&](std::int64_t begin, std::int64_t end, int) {
        drop(p, stream, p.first + begin, p.first + end, a.in<T>(0), a.out<T>(0));
      });
    };
  });
}

}  // namespace

std::vector<Operator> dropout_operators() {
  std::vector<Case> cases;
  const auto add = [&](Tier tier, const Shape& shape, double rate, std::int64_t first = 0, double step = 3) {
    cases.push_back(
        {.tier = tier,
         .inputs = {shape, {1}},
         .attrs = {{"rate", rate}, {"seed", std::int64_t{11}}, {"key", std::int64_t{2}}, {"first", first}},
         .fills = {{}, {Fill::Kind::constant, step}},
         .dtypes = {std::nullopt, DType::f64}});
  };
  add(Tier::ci, {1}, 0.5);
  add(Tier::ci, {7}, 0.0);
  add(Tier::ci, {64, 10}, 0.25);
  add(Tier::ci, {3, 5, 7, 11}, 0.5, 13);
  add(Tier::ci, {259}, 0.9, 8'000'000'000'001, 1e9);
  add(Tier::smoke, {40000}, 0.1, 130);
  add(Tier::smoke, {5003}, 0.4, 8);
  add(Tier::perf, {4194304}, 0.5);
  add(Tier::perf, {262144}, 0.5);
  return {{.schema = {.name = "dropout", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = {{.name = "cuda:blocks",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_dropout_cuda)},
                       {.name = "cpu:blocks", .prepare = blocks},
                       {.name = "reference", .prepare = reference}},
           .cases = cases,
           .no_gradient = {1}}};
}

}  // namespace headroom
