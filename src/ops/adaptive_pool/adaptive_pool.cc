#include "ops/adaptive_pool/adaptive_pool.h"

#include <algorithm>

#include "graph/graph.h"
#include "ops/expect.h"
#include "ops/reduce/cuda/stage_plan.h"

namespace headroom {
namespace adaptive_pool_cc {
namespace {

using Integers = std::vector<std::int64_t>;

bool is_global(std::string_view op, const Attrs& attrs) {
  return op.starts_with("global") || (op.ends_with("_grad") && !attrs.has("output"));
}

TensorType pooled(std::string_view op, const TensorType& x, const Attrs& attrs) {
  expect_float(op, x);
  if (is_global(op, attrs)) {
    if (x.shape.rank() < 3) reject("{} takes [N, C, …], not {}", op, x.shape.str());
    TensorType y = x;
    for (int a = 2; a < x.shape.rank(); ++a) y.shape[a] = 1;
    return y;
  }
  expect_rank(op, x, 4, "NCHW");
  const Integers output = attrs.integers("output");
  if (output.size() != 2)
    reject(Hint{"output=[7,7]"}, "{} needs 'output' with two entries, not {}", op, output.size());
  for (int a : {0, 1}) {
    const std::int64_t size = output[static_cast<std::size_t>(a)];
    if (size < 1 || size > (std::int64_t{1} << 30)) reject("{} to {} windows", op, size);
  }
  return {{x.shape[0], x.shape[1], output[0], output[1]}, x.dtype};
}

template <const std::string_view& kName>
std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kName, in, 1);
  return {pooled(kName, in[0], attrs)};
}

constexpr std::string_view kGlobalAvg = "global_avg_pool", kGlobalMax = "global_max_pool",
                           kAvg = "adaptive_avg_pool", kMax = "adaptive_max_pool",
                           kAvgGrad = "adaptive_avg_pool_grad", kMaxGrad = "adaptive_max_pool_grad";

std::vector<TensorType> infer_avg_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kAvgGrad, in, 1);
  const TensorType x{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty(kAvgGrad, {x});
  expect_same(kAvgGrad, in[0], pooled(kAvgGrad, x, attrs));
  return {x};
}

std::vector<TensorType> infer_max_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kMaxGrad, in, 2);
  expect_same(kMaxGrad, in[0], pooled(kMaxGrad, in[1], attrs));
  return {in[1]};
}

// An addition or a comparison for each element of each window, and the divisions of the means.
Cost cost(const Problem& problem) {
  const AdaptiveProblem p = adaptive_problem(problem);
  Cost c = traffic(problem);
  double rows = 0, columns = 0;
  for (std::int64_t i = 0; i < p.rows.output; ++i) rows += double(p.rows.end(i) - p.rows.begin(i));
  for (std::int64_t j = 0; j < p.columns.output; ++j)
    columns += double(p.columns.end(j) - p.columns.begin(j));
  c.other = double(p.planes) * rows * columns;
  if (problem.op.find("avg") != std::string::npos) c.other += double(p.planes * p.output_plane());
  return c;
}

std::vector<ValueId> gradient_avg(const GradientContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("input_shape", c.graph.value(c.input(0)).type.shape.vector());
  return {c.emit(kAvgGrad, {c.output_gradients[0]}, std::move(attrs))};
}

std::vector<ValueId> gradient_max(const GradientContext& c) {
  return {c.emit(kMaxGrad, {c.output_gradients[0], c.input(0)}, c.attrs())};
}

Verdict accepts_cuda(const Problem& problem, const Target& target) {
  const AdaptiveProblem p = adaptive_problem(problem);
  if (p.input_plane() >= INT32_MAX || p.output_plane() >= INT32_MAX)
    return refuse("places in a plane are counted in 32 bits");
  return accepts_cuda_floats(problem, target);
}

// Between the stages of a reduction, or where each window has its maximum.
std::size_t workspace_cuda(const Problem& problem, const Target&) {
  const AdaptiveProblem p = adaptive_problem(problem);
  const std::size_t wide = problem.outputs[0].dtype == DType::f64 ? 8 : 4;
  if (problem.op == kMaxGrad)
    return static_cast<std::size_t>(p.planes * p.output_plane()) * sizeof(std::int32_t);
  if (problem.op == kAvgGrad || !p.global()) return 0;
  return static_cast<std::size_t>(between_stages(adaptive_global_stages(p))) * wide;
}

Work work_cuda(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  work.add_bytes(2 * static_cast<double>(workspace_cuda(problem, target)));
  const AdaptiveProblem p = adaptive_problem(problem);
  if (problem.op == kMaxGrad)
    work.main().count = 2;
  else if (problem.op != kAvgGrad && p.global())
    work.main().count = static_cast<int>(adaptive_global_stages(p).size());
  return work;
}

struct PoolCase {
  Tier tier;
  Shape input;
  Integers output;  // empty: global
};

std::vector<PoolCase> pool_cases() {
  return {{Tier::ci, {1, 1, 1, 1}, {1, 1}},
          {Tier::ci, {2, 3, 7, 7}, {1, 1}},
          {Tier::ci, {2, 3, 6, 8}, {3, 2}},
          {Tier::ci, {1, 2, 7, 5}, {3, 4}},
          {Tier::ci, {1, 2, 5, 37}, {5, 7}},
          {Tier::ci, {1, 1, 3, 2}, {5, 5}},
          {Tier::smoke, {4, 9, 28, 30}, {7, 7}},
          {Tier::smoke, {2, 3, 65, 70}, {11, 13}},
          {Tier::perf, {32, 64, 56, 56}, {7, 7}},
          {Tier::ci, {2, 3, 7, 7}, {}},
          {Tier::ci, {3, 2, 70}, {}},
          {Tier::ci, {2, 2, 3, 4, 5}, {}},
          {Tier::smoke, {3, 40, 17, 19}, {}},
          {Tier::smoke, {1, 2, 150, 151}, {}},
          {Tier::perf, {32, 2048, 7, 7}, {}},
          {Tier::perf, {32, 64, 56, 56}, {}}};
}

struct Cases {
  std::vector<Case> global, adaptive, avg_grad, max_grad;
};

Cases make_cases() {
  Cases cases;
  for (const PoolCase& c : pool_cases()) {
    Attrs attrs;
    if (!c.output.empty()) attrs.set("output", c.output);
    const Shape y = pooled(kAvgGrad, {c.input, DType::f32}, attrs).shape;
    (c.output.empty() ? cases.global : cases.adaptive)
        .push_back({.tier = c.tier, .inputs = {c.input}, .attrs = attrs});
    cases.max_grad.push_back({.tier = c.tier, .inputs = {y, c.input}, .attrs = attrs});
    attrs.set("input_shape", c.input.vector());
    cases.avg_grad.push_back({.tier = c.tier, .inputs = {y}, .attrs = attrs});
  }
  return cases;
}

}  // namespace
}  // namespace adaptive_pool_cc

std::vector<cuda::ReduceStage> adaptive_global_stages(const AdaptiveProblem& p) {
  using namespace adaptive_pool_cc;
  const Shape all{p.planes, p.input_plane()};
  return stages_of(reduce_problem("global pool", all, {{"axes", Integers{1}}}));
}

AdaptiveProblem adaptive_problem(const Problem& p) {
  using namespace adaptive_pool_cc;
  const Shape& x = (p.op == kMaxGrad ? p.inputs[1] : p.op == kAvgGrad ? p.outputs[0] : p.inputs[0]).shape;
  AdaptiveProblem pool{.planes = x[0] * x[1]};
  if (is_global(p.op, p.attrs)) {
    pool.columns.input = x.numel() / pool.planes;
    return pool;
  }
  const Integers output = p.attrs.integers("output");
  pool.rows = {x[2], output[0]};
  pool.columns = {x[3], output[1]};
  return pool;
}

std::vector<Operator> adaptive_pool_operators() {
  using namespace adaptive_pool_cc;
  const Cases cases = make_cases();
  const Kernel last{.name = "reference", .prepare = adaptive_reference};
  auto kernels = [&](std::string_view name, Launcher (*prepare)(const Problem&, const LaunchContext&)) {
    return std::vector<Kernel>{{.name = "cuda:windows",
                                .device = DeviceKind::cuda,
                                .accepts = accepts_cuda,
                                .work = work_cuda,
                                .prepare = HEADROOM_CUDA(prepare_adaptive_pool_cuda),
                                .workspace = workspace_cuda,
                                .layouts = Layouts::alike},
                               {.name = name, .accepts = accepts_adaptive_rows, .prepare = prepare},
                               last};
  };
  auto avg = [&](std::string_view name, auto shape_of, const std::vector<Case>& list) {
    return Operator{
        .schema = {.name = std::string(name), .infer = shape_of, .cost = cost, .gradient = gradient_avg},
        .kernels = kernels("cpu:rows", adaptive_avg_rows),
        .cases = list};
  };
  auto max = [&](std::string_view name, auto shape_of, const std::vector<Case>& list) {
    return Operator{
        .schema = {.name = std::string(name), .infer = shape_of, .cost = cost, .gradient = gradient_max},
        .kernels = kernels("cpu:rows", adaptive_max_rows),
        .cases = list,
        .exact = true};
  };
  return {avg(kAvg, infer<kAvg>, cases.adaptive),
          avg(kGlobalAvg, infer<kGlobalAvg>, cases.global),
          {.schema = {.name = std::string(kAvgGrad), .infer = infer_avg_grad, .cost = cost},
           .kernels = kernels("cpu:rows", adaptive_avg_grad_rows),
           .cases = cases.avg_grad},
          max(kMax, infer<kMax>, cases.adaptive),
          max(kGlobalMax, infer<kGlobalMax>, cases.global),
          {.schema = {.name = std::string(kMaxGrad), .infer = infer_max_grad, .cost = cost},
           .kernels = kernels("cpu:planes", adaptive_max_grad_planes),
           .cases = cases.max_grad,
           .exact = true}};
}

}  // namespace headroom
