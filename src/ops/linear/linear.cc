#include "ops/linear/linear.h"

#include "graph/graph.h"
#include "ops/activation/activation.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/linear/few_rows.h"
#include "ops/product/kernels.h"
#include "ops/product/outer.h"

namespace headroom {
namespace {

struct Linear {
  std::int64_t rows, in, out;
  bool bias;
  Activation activation;
};

Linear parse(const std::vector<TensorType>& in, const Attrs& attrs) {
  const Shape &x = in.at(0).shape, &w = in.at(1).shape;
  if (x.rank() < 2 || w.rank() != 2)
    reject("linear takes rows and a matrix of weights, not {} and {}", x.str(), w.str());
  const std::int64_t inputs = x[x.rank() - 1];
  if (inputs != w[1]) reject("linear of {} inputs with weights for {}", inputs, w[1]);
  if (in.size() > 2 && in[2].shape != Shape{w[0]})
    reject("linear with {} outputs and bias {}", w[0], in[2].shape.str());
  const auto activation = parse_activation(attrs.text("activation"));
  if (!activation) reject("linear cannot fuse activation '{}'", attrs.text("activation"));
  return {x.numel() / inputs, inputs, w[0], in.size() > 2, *activation};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const Linear l = parse(in, attrs);
  TensorType y = in[0];
  y.shape[y.shape.rank() - 1] = l.out;
  return {y};
}

Cost cost(const Problem& p) {
  const Linear l = parse(p.inputs, p.attrs);
  Cost c = traffic(p);
  const double outputs = double(l.rows) * double(l.out);
  c.multiply_add = 2 * outputs * double(l.in);
  c.other = l.bias ? outputs : 0;
  if (l.activation != Activation::none) (l.activation == Activation::relu ? c.other : c.special) += outputs;
  return c;
}

// All axes but the last as one: a view.
ValueId as_rows(const GradientContext& c, ValueId value) {
  const Shape shape = c.graph.value(value).type.shape;
  if (shape.rank() == 2) return value;
  return c.emit("reshape", {value}, {{"shape", std::vector<std::int64_t>{-1, shape[shape.rank() - 1]}}});
}

std::vector<ValueId> gradient(const GradientContext& c) {
  if (c.attrs().has("activation")) fail("fused nodes come after differentiation");
  const Shape shape = c.graph.value(c.input(0)).type.shape;
  const ValueId dy = as_rows(c, c.output_gradients[0]);
  std::vector<ValueId> gradients = {kNone, kNone};
  if (c.needed[0]) {
    gradients[0] = c.emit("matmul", {dy, c.input(1)});
    if (shape.rank() > 2) gradients[0] = c.emit("reshape", {gradients[0]}, {{"shape", shape.vector()}});
  }
  if (c.needed[1])
    gradients[1] = c.emit("matmul", {dy, as_rows(c, c.input(0))}, {{"trans_a", std::int64_t{1}}});
  if (c.needed.size() > 2) gradients.push_back(c.needed[2] ? c.emit("bias_grad", {dy}) : kNone);
  return gradients;
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [l = parse(p.inputs, p.attrs)](const LaunchArgs& a) {
      const T *x = a.in<T>(0), *w = a.in<T>(1), *bias = l.bias ? a.in<T>(2) : nullptr;
      T* y = a.out<T>(0);
      for (std::int64_t n = 0; n < l.rows; ++n)
        for (std::int64_t m = 0; m < l.out; ++m) {
          T sum = bias ? bias[m] : T{0};
          for (std::int64_t k = 0; k < l.in; ++k) sum += x[n * l.in + k] * w[m * l.in + k];
          y[n * l.out + m] = activate_scalar(l.activation, sum);
        }
    };
  });
}

// Bias and activation in one pass over the product while it is still in a cache.
template <class T>
void finish_rows(const Linear& l, const T* bias, T* y) {
  if (bias == nullptr && l.activation == Activation::none) return;
  parallel_for(l.rows, std::max<std::int64_t>(1, kElementwiseGrain / l.out),
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t n = begin; n < end; ++n) {
                   T* row = y + n * l.out;
                   if (bias != nullptr)
                     for (std::int64_t m = 0; m < l.out; ++m) row[m] += bias[m];
                   apply_activation(l.activation, l.out, row, row);
                 }
               });
}

Launcher blas(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [l = parse(p.inputs, p.attrs)](const LaunchArgs& a) {
      T* y = a.out<T>(0);
      gemm(false, true, l.rows, l.out, l.in, T{1}, a.in<T>(0), l.in, a.in<T>(1), l.in, T{0}, y, l.out);
      finish_rows(l, l.bias ? a.in<T>(2) : nullptr, y);
    };
  });
}

Verdict accepts_few_rows(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  constexpr std::int64_t kCached = 1 << 20;
  if (parse(p.inputs, p.attrs).rows > kMaxFewRows)
    return refuse("more than 32 rows: a matrix library is faster");
  if (p.inputs[1].bytes() < kCached)
    return refuse("the weights fit into a cache: a matrix library is faster");
  return accept();
}

Launcher prepare_few_rows(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [l = parse(p.inputs, p.attrs)](const LaunchArgs& a) {
      T* y = a.out<T>(0);
      few_rows(l.rows, l.in, l.out, a.in<T>(0), a.in<T>(1), y);
      finish_rows(l, l.bias ? a.in<T>(2) : nullptr, y);
    };
  });
}

// With 16 rows a Neoverse V1 was seen at two thirds of its peak, with one at the speed of memory.
Work few_rows_work(const Problem& p, const Target& target) {
  return least_work(p, target).with("cpu.few_rows", ordinary_unit(p.outputs[0].dtype));
}

// The same in fp64, each result rounded once: the few outputs of the layers that ask for this are no loss of
// time.
void finish_rows_wide(const Linear& l, const float* bias, float* y) {
  if (bias == nullptr && l.activation == Activation::none) return;
  parallel_for(l.rows, std::max<std::int64_t>(1, kElementwiseGrain / l.out),
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin * l.out; i < end * l.out; ++i)
                   y[i] = static_cast<float>(
                       activate_scalar(l.activation, double{y[i]} + (bias ? double{bias[i % l.out]} : 0.0)));
               });
}

// Where a run must follow one in fp64 as closely as fp32 can: sums in fp64, rounded once.
Launcher wide(const Problem& p, const LaunchContext&) {
  return [l = parse(p.inputs, p.attrs)](const LaunchArgs& a) {
    float* y = a.out<float>(0);
    gemm_wide(false, true, l.rows, l.out, l.in, a.in<float>(0), l.in, a.in<float>(1), l.in, y, l.out,
              a.workspace);
    finish_rows_wide(l, l.bias ? a.in<float>(2) : nullptr, y);
  };
}

std::size_t wide_workspace(const Problem& p, const Target&) {
  const Linear l = parse(p.inputs, p.attrs);
  return wide_scratch_bytes(l.rows, l.out, l.in);
}

Work blas_work(const Problem& p, const Target& target) {
  const Linear l = parse(p.inputs, p.attrs);
  Work work = least_work(p, target);
  work.with("cpu.gemm", ordinary_unit(p.outputs[0].dtype), {l.rows, l.out, l.in});
  if (l.bias || l.activation != Activation::none) work.add_bytes(2 * double(p.outputs[0].bytes()));
  return work;
}

Work wide_work(const Problem& p, const Target& target) {
  Work work = blas_work(p, target);
  work.with("cpu.gemm.fp64_sums", Unit::fp64, work.main().extent);
  return work.add_bytes(2 * double(wide_workspace(p, target)));
}

Product product_of(const Problem& p, const Target& target) {
  const Linear l = parse(p.inputs, p.attrs);
  return {.dtype = p.outputs[0].dtype,
          .tf32 = target.policy.tf32 && p.outputs[0].dtype == DType::f32,
          .trans_b = true,
          .m = l.rows,
          .n = l.out,
          .k = l.in,
          .lda = l.in,
          .ldb = l.in,
          .ldc = l.out,
          .bias = l.bias,
          .finish = l.activation};
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> list = product_kernels(product_of);
  list.push_back({.name = "cpu:few_rows",
                  .accepts = accepts_few_rows,
                  .work = few_rows_work,
                  .prepare = prepare_few_rows});
  list.push_back({.name = "cpu:blas", .work = blas_work, .prepare = blas});
  list.push_back({.name = "cpu:wide",
                  .accepts = accepts_cpu_fp32,
                  .work = wide_work,
                  .prepare = wide,
                  .workspace = wide_workspace});
  list.push_back({.name = "reference", .prepare = reference});
  return list;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (auto [n, m, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {5, 3, 7}, {33, 10, 65}, {8, 84, 120}}) {
    list.push_back({.tier = Tier::ci, .inputs = {{n, k}, {m, k}}});
    list.push_back({.tier = Tier::ci, .inputs = {{n, k}, {m, k}, {m}}});
  }
  // Few rows of weights beyond the caches: all kinds of tiles, tails, more than one block of inputs.
  for (auto [n, m, k] : {std::array<std::int64_t, 3>{1, 257, 1030}, {7, 131, 2051}, {32, 130, 2049}})
    list.push_back({.tier = Tier::smoke, .inputs = {{n, k}, {m, k}, {m}}});
  list.push_back({.tier = Tier::ci, .inputs = {{2, 3, 7}, {5, 7}, {5}}});
  list.push_back({.tier = Tier::ci, .inputs = {{2, 1, 4, 3}, {2, 3}}});
  // Fused forms are made after differentiation, so they belong to the kernel tests alone.
  for (const char* f : {"relu", "sigmoid", "tanh"})
    list.push_back({.tier = Tier::smoke,
                    .inputs = {{33, 65}, {10, 65}, {10}},
                    .attrs = {{"activation", std::string(f)}},
                    .exact = std::string_view(f) == "relu"});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{9, 17000}, {10, 17000}, {10}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::smoke, .inputs = {{37, 1000}, {10, 1000}, {10}}});
  // Rows that split k among blocks, and tiles with activations: paths of GPUs.
  list.push_back({.tier = Tier::smoke, .inputs = {{20, 2056}, {10, 2056}, {10}}});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{70, 515}, {132, 515}, {132}},
                  .attrs = {{"activation", std::string("tanh")}},
                  .exact = false});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{256, 400}, {120, 400}, {120}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::smoke,  // short sums
                  .inputs = {{2, 70, 13}, {132, 13}, {132}},
                  .attrs = {{"activation", std::string("tanh")}},
                  .exact = false});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{75, 9}, {35, 9}, {35}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::smoke,  // as small as cuda:fp16x3 takes them
                  .inputs = {{651, 500}, {616, 500}, {616}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::perf, .inputs = {{3000, 784}, {512, 784}, {512}}});
  list.push_back({.tier = Tier::perf, .inputs = {{3000, 512}, {10, 512}, {10}}});
  return list;
}

}  // namespace

std::vector<Operator> linear_operators() {
  return {{.schema = {.name = "linear", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = kernels(),
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom
