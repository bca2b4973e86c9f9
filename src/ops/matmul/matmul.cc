#include "ops/matmul/matmul.h"

#include <array>

#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"

namespace headroom {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const bool slope = matmul_slope(attrs) != Activation::none;
  expect_inputs("matmul", in, slope ? 3 : 2);
  expect_float("matmul", in[0]);
  if (in[0].dtype != in[1].dtype) reject("matmul of {} and {}", name_of(in[0].dtype), name_of(in[1].dtype));
  const MatmulProblem p = matmul_problem(in, attrs);
  std::vector<std::int64_t> dims = p.batch.vector();
  if (in[0].shape.rank() > 1) dims.push_back(p.m);
  if (in[1].shape.rank() > 1) dims.push_back(p.n);
  const TensorType c{Shape(dims), in[0].dtype};
  if (slope) expect_same("matmul", in[2], c);
  return {c};
}

Cost cost(const Problem& problem) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  Cost c = traffic(problem);
  c.multiply_add = 2.0 * double(p.count()) * double(p.m) * double(p.n) * double(p.k);
  if (const Activation slope = matmul_slope(problem.attrs); slope != Activation::none)
    c.other = (slope == Activation::relu ? 1.0 : 3.0) * double(problem.outputs[0].shape.numel());
  return c;
}

template <class T>
void product_by_hand(const MatmulProblem& p, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k)
        sum += a[p.trans_a ? k * p.lda + i : i * p.lda + k] * b[p.trans_b ? j * p.ldb + k : k * p.ldb + j];
      c[i * p.n + j] = sum;
    }
}

Launcher reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = matmul_problem(problem.inputs, problem.attrs),
            slope = matmul_slope(problem.attrs)](const LaunchArgs& args) {
      T* c = args.out<T>(0);
      for (std::size_t i = 0; i < p.a.size(); ++i)
        product_by_hand(p, args.in<T>(0) + p.a[i], args.in<T>(1) + p.b[i],
                        c + static_cast<std::int64_t>(i) * p.m * p.n);
      if (slope == Activation::none) return;
      for (std::int64_t i = 0; i < p.count() * p.m * p.n; ++i)
        c[i] *= slope_from_output(slope, args.in<T>(2)[i]);
    };
  });
}

// In place, after the product: what sigmoid_grad and its like do.
template <class T>
void finish_slope(Activation slope, std::int64_t n, const LaunchArgs& args) {
  if (slope == Activation::none) return;
  parallel_for(n, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    T* c = args.out<T>(0) + begin;
    apply_slope(slope, end - begin, c, args.in<T>(2) + begin, c);
  });
}

// Products that a team shares among its members, each on one thread, rather than one after the other with the
// team inside: many of them, or ones too small for a team.
bool shares_batch(const MatmulProblem& p, std::int64_t threads) {
  constexpr double kTeamsWork =
      2e6;  // FLOPs; a team takes some 10 us to wake up, in which one thread does 1e5
  const double flops = 2.0 * double(p.m) * double(p.n) * double(p.k);
  return p.count() >= 4 * threads || (p.count() > 1 && flops < kTeamsWork);
}

Launcher blas(const Problem& problem, const LaunchContext&) {
  MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  if (p.folds()) {
    p.m *= p.count();
    p.batch = Shape{};
  }
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, slope = matmul_slope(problem.attrs)](const LaunchArgs& args) {
      auto products = [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i)
          gemm(p.trans_a, p.trans_b, p.m, p.n, p.k, T{1}, args.in<T>(0) + p.a[static_cast<std::size_t>(i)],
               p.lda, args.in<T>(1) + p.b[static_cast<std::size_t>(i)], p.ldb, T{0},
               args.out<T>(0) + i * p.m * p.n, p.n);
      };
      if (shares_batch(p, omp_get_max_threads()))
        parallel_for(p.count(), kElementwiseGrain / (p.m * p.n * p.k) + 1, products);
      else
        products(0, p.count(), 0);
      finish_slope<T>(slope, p.count() * p.m * p.n, args);
    };
  });
}

Work blas_work(const Problem& problem, const Target& target) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  Work work = least_work(problem, target);
  work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype),
            {p.folds() ? p.m * p.count() : p.m, p.n, p.k});
  if (matmul_slope(problem.attrs) != Activation::none) work.add_bytes(2 * double(problem.outputs[0].bytes()));
  return work;
}

// Sums in fp64, rounded once; one product.
Verdict wide_accepts(const Problem& problem, const Target& target) {
  const Verdict verdict = accepts_cpu_fp32(problem, target);
  if (!verdict.ok) return verdict;
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  return p.count() == 1 ? accept() : refuse("takes one product, not a batch of them");
}

std::size_t wide_workspace(const Problem& problem, const Target&) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  return wide_scratch_bytes(p.m, p.n, p.k);
}

Launcher wide(const Problem& problem, const LaunchContext&) {
  return [p = matmul_problem(problem.inputs, problem.attrs),
          slope = matmul_slope(problem.attrs)](const LaunchArgs& a) {
    gemm_wide(p.trans_a, p.trans_b, p.m, p.n, p.k, a.in<float>(0), p.lda, a.in<float>(1), p.ldb,
              a.out<float>(0), p.n, a.workspace);
    if (slope == Activation::none) return;
    float* c = a.out<float>(0);
    const float* y = a.in<float>(2);
    parallel_for(p.m * p.n, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        c[i] = static_cast<float>(double{c[i]} * slope_from_output(slope, double{y[i]}));
    });
  };
}

Work wide_work(const Problem& problem, const Target& target) {
  Work work = blas_work(problem, target);
  work.with("cpu.gemm.fp64_sums", Unit::fp64, work.main().extent);
  return work.add_bytes(2 * double(wide_workspace(problem, target)));
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> list = matmul_gpu_kernels();
  list.push_back({.name = "cpu:blas", .work = blas_work, .prepare = blas});
  list.push_back({.name = "cpu:wide",
                  .accepts = wide_accepts,
                  .work = wide_work,
                  .prepare = wide,
                  .workspace = wide_workspace});
  list.push_back({.name = "reference", .prepare = reference});
  return list;
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
  auto add = [&](Tier tier, Shape a, Shape b, const Attrs& attrs) {
    list.push_back({.tier = tier, .inputs = {a, b}, .attrs = attrs});
  };
  add(Tier::ci, {4, 3, 5}, {4, 5, 2}, plain);
  add(Tier::ci, {2, 3, 5, 4}, {2, 3, 5, 6}, ta);
  add(Tier::ci, {2, 3, 4, 5}, {2, 3, 6, 5}, tb);
  add(Tier::ci, {3, 5, 4}, {3, 6, 5}, both);
  add(Tier::ci, {2, 3, 4, 5}, {5, 6}, plain);  // the batch folds into rows
  add(Tier::ci, {2, 3, 4, 5}, {6, 5}, tb);
  add(Tier::ci, {3, 4, 5}, {1, 5, 2}, plain);
  add(Tier::ci, {7}, {7}, plain);
  add(Tier::ci, {7}, {7, 3}, plain);
  add(Tier::ci, {4, 7}, {7}, plain);
  add(Tier::ci, {2, 3, 7}, {7}, plain);
  add(Tier::ci, {7}, {3, 7, 2}, plain);
  add(Tier::ci, {2, 1, 4, 5}, {3, 5, 6}, plain);  // both sides are broadcast
  add(Tier::ci, {5, 4}, {2, 3, 5, 6}, ta);
  add(Tier::ci, {2, 4, 5}, {4, 6}, ta);
  add(Tier::smoke, {24, 33, 17}, {24, 29, 17}, tb);
  add(Tier::smoke, {3, 130, 140}, {3, 140, 150}, plain);
  add(Tier::smoke, {617, 751}, {751, 433}, plain);  // as small as cuda:fp16x3 takes them
  add(Tier::smoke, {500, 10}, {500, 132}, ta);      // a last layer's weights: few rows, long sums
  add(Tier::smoke, {520, 76}, {520, 9}, ta);
  add(Tier::smoke, {1100, 10}, {1100, 70}, ta);  // sums that blocks share
  add(Tier::smoke, {1300, 40}, {9, 1300}, both);
  add(Tier::smoke, {2, 20000}, {3, 20000}, tb);
  add(Tier::smoke, {50, 701}, {16, 701}, tb);  // more than is in registers at a time
  add(Tier::smoke, {260, 72}, {136, 72}, tb);
  // Sums of a few terms, over several blocks and past whole packs; the forms with a slope are made after
  // differentiation, so they belong to the kernel tests alone.
  add(Tier::smoke, {300, 10}, {10, 132}, plain);
  add(Tier::smoke, {10, 45}, {10, 66}, ta);
  add(Tier::smoke, {131, 16}, {30, 16}, tb);
  add(Tier::smoke, {3, 33, 12}, {3, 12, 137}, plain);
  add(Tier::smoke, {2, 4, 70}, {2, 19, 4}, both);
  auto add_slope = [&](const char* name, Shape a, Shape b, Shape y, Attrs attrs) {
    attrs.set("activation_grad", std::string(name));
    const bool relu = std::string_view(name) == "relu";
    list.push_back({.tier = Tier::smoke,
                    .inputs = {a, b, y},
                    .attrs = attrs,
                    .fills = {{}, {}, {relu ? Fill::Kind::normal : Fill::Kind::positive}},
                    .exact = relu});
  };
  for (const char* name : {"relu", "sigmoid", "tanh"}) {
    add_slope(name, {70, 10}, {10, 84}, {70, 84}, plain);
    add_slope(name, {37, 33}, {33, 41}, {37, 41}, plain);
  }
  add_slope("sigmoid", {50, 7}, {7, 33}, {50, 33}, plain);
  add_slope("relu", {500, 10}, {500, 132}, {10, 132}, ta);
  add_slope("tanh", {260, 72}, {136, 72}, {260, 136}, tb);
  add_slope("sigmoid", {3, 20, 8}, {3, 8, 24}, {3, 20, 24}, plain);
  add_slope("tanh", {2, 1, 20, 5}, {3, 5, 6}, {2, 3, 20, 6}, plain);
  add(Tier::perf, {2048, 2048}, {2048, 2048}, plain);
  add(Tier::perf, {3000, 10}, {10, 512}, plain);
  add(Tier::perf, {3000, 10}, {3000, 512}, ta);
  add(Tier::perf, {3000, 512}, {3000, 784}, ta);
  add(Tier::perf, {96, 128, 64}, {96, 128, 64}, tb);  // scores of eight sequences, twelve heads each
  add(Tier::perf, {96, 128, 128}, {96, 128, 64}, plain);
  return list;
}

}  // namespace

Activation matmul_slope(const Attrs& attrs) {
  const auto slope = parse_activation(attrs.text("activation_grad"));
  if (!slope) reject("matmul cannot fuse the gradient of '{}'", attrs.text("activation_grad"));
  return *slope;
}

std::vector<Operator> matmul_operators() {
  return {{.schema = {.name = "matmul", .infer = infer, .cost = cost, .gradient = matmul_gradient},
           .kernels = kernels(),
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom
