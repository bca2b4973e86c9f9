#include "ops/l2_penalty/l2_penalty.h"

#include "ops/cpu/parallel.h"
#include "ops/cpu/tensor_list.h"
#include "ops/expect.h"

namespace headroom {
namespace l2_penalty_cc {
namespace {

// Summed in chunks of fixed size, then in order: the same bits for any number of threads.
constexpr std::int64_t kChunk = 8192;

TensorList list_of(const Problem& p) {
  TensorList list;
  for (std::size_t i = penalty_base(p.attrs); i < p.inputs.size(); ++i) list.add(p.inputs[i].shape);
  return list;
}

std::int64_t chunks(const TensorList& list) { return (list.numel() + kChunk - 1) / kChunk; }

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const std::size_t base = penalty_base(attrs);
  if (in.size() <= base) reject("l2_penalty needs at least one parameter");
  expect_not_empty("l2_penalty", in);
  for (const TensorType& type : in) {
    expect_float("l2_penalty", type);
    if (type.dtype != in[0].dtype)
      reject("l2_penalty: parameters in {} and {}", name_of(in[0].dtype), name_of(type.dtype));
  }
  if (base > 0) expect_same("l2_penalty", in[0], {{1}, in[0].dtype});
  if (!(attrs.real("lambda") >= 0)) reject("l2_penalty: lambda is {}", attrs.real("lambda"));
  return {{{1}, in[0].dtype}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.multiply_add = 2 * static_cast<double>(list_of(p).numel());
  return c;
}

// The sum of squares to the result.
template <class T>
void finish(const LaunchArgs& a, std::size_t base, double lambda, double sum) {
  const T penalty = static_cast<T>(lambda / 2 * sum);
  *a.out<T>(0) = base > 0 ? *a.in<T>(0) + penalty : penalty;
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [inputs = p.inputs, base = penalty_base(p.attrs),
            lambda = p.attrs.real("lambda")](const LaunchArgs& a) {
      double sum = 0;
      for (std::size_t i = base; i < inputs.size(); ++i)
        for (std::int64_t k = 0; k < inputs[i].shape.numel(); ++k)
          sum += double{a.in<T>(i)[k]} * double{a.in<T>(i)[k]};
      finish<T>(a, base, lambda, sum);
    };
  });
}

template <class T>
double sum_of_squares(std::int64_t n, const T* x) {
  double part[16] = {};  // independent sums: one alone would wait for each addition
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
#pragma omp simd
    for (std::int64_t k = 0; k < 16; ++k) part[k] += double{x[i + k]} * double{x[i + k]};
  double sum = 0;
  for (double p : part) sum += p;
  for (; i < n; ++i) sum += double{x[i]} * double{x[i]};
  return sum;
}

std::size_t workspace(const Problem& p, const Target&) {
  return static_cast<std::size_t>(chunks(list_of(p))) * sizeof(double);
}

Launcher chunked(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [list = list_of(p), base = penalty_base(p.attrs),
            lambda = p.attrs.real("lambda")](const LaunchArgs& a) {
      auto* sums = static_cast<double*>(a.workspace);
      parallel_for(chunks(list), 2, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t k = begin; k < end; ++k) {
          sums[k] = 0;
          list.each_piece(k * kChunk, std::min((k + 1) * kChunk, list.numel()),
                          [&](std::size_t i, std::int64_t from, std::int64_t to) {
                            sums[k] += sum_of_squares(to - from, a.in<T>(base + i) + from);
                          });
        }
      });
      double total = 0;
      for (std::int64_t k = 0; k < chunks(list); ++k) total += sums[k];
      finish<T>(a, base, lambda, total);
    };
  });
}

// A double for each block: no tensor is cut finer than into chunks of half the size of the CPU's.
std::size_t workspace_cuda(const Problem& p, const Target&) {
  std::int64_t blocks = 0;
  for (const TensorType& type : p.inputs) blocks += 2 * (type.shape.numel() / kChunk + 1);
  return static_cast<std::size_t>(blocks) * sizeof(double);
}

// Each block, and the last one again, sums over its 256 threads, by lanes and then by warps.
Work work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  double blocks = 1, elements = 0;
  for (std::size_t i = penalty_base(p.attrs); i < p.inputs.size(); ++i) {
    const std::int64_t n = p.inputs[i].shape.numel();
    blocks += double((n + kChunk / 2 - 1) / (kChunk / 2)), elements += double(n);
  }
  work.main().executed = 2 * elements + blocks * 256 * 10;
  return work;
}

}  // namespace
}  // namespace l2_penalty_cc

std::size_t penalty_base(const Attrs& attrs) { return attrs.integer("has_base") != 0 ? 1 : 0; }

std::vector<Operator> l2_penalty_operators() {
  using namespace l2_penalty_cc;
  const Attrs attrs{{"lambda", 0.02}}, based{{"lambda", 0.02}, {"has_base", std::int64_t{1}}};
  return {{.schema = {.name = "l2_penalty", .infer = infer, .cost = cost},
           .kernels = {{.name = "cuda:chunks",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .work = work_cuda,
                        .prepare = HEADROOM_CUDA(prepare_l2_penalty_cuda),
                        .workspace = workspace_cuda,
                        .shares_counter = true},
                       {.name = "cpu:chunks", .prepare = chunked, .workspace = workspace},
                       {.name = "reference", .prepare = reference}},
           .cases = {{.tier = Tier::ci, .inputs = {{1}}, .attrs = attrs},
                     {.tier = Tier::ci, .inputs = {{7, 3}, {5}, {2, 2, 3, 3}}, .attrs = attrs},
                     {.tier = Tier::ci, .inputs = {{100, 100}, {8192}, {9, 4099}}, .attrs = attrs},
                     {.tier = Tier::ci, .inputs = std::vector<Shape>(130, {67}), .attrs = attrs},
                     {.tier = Tier::ci, .inputs = {{1}, {3}}, .attrs = based},
                     {.tier = Tier::ci, .inputs = {{1}, {7, 300}, {9000}}, .attrs = based},
                     {.tier = Tier::perf, .inputs = {{784, 512}, {512, 10}}, .attrs = attrs}}}};
}

}  // namespace headroom
