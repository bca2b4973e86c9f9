#include "ops/non_zero/non_zero.h"

#include <algorithm>
#include <array>

#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/stored.h"

namespace headroom {
namespace non_zero_cc {
namespace {

Shape with_axis(const Shape& x) { return x.rank() == 0 ? Shape{1} : x; }

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("non_zero", in, 1);
  const Shape x = with_axis(in[0].shape);
  return {{{std::int64_t{x.rank()}, x.numel()}, DType::i64}, {Shape{}, DType::i64}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

void store_place(const Shape& x, std::int64_t i, std::int64_t column, std::int64_t* out) {
  for (int a = x.rank(); a-- > 0;) {
    out[a * x.numel() + column] = i % x[a];
    i /= x[a];
  }
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [x = with_axis(p.inputs[0].shape)](const LaunchArgs& a) {
      std::fill_n(a.out<std::int64_t>(0), x.rank() * x.numel(), std::int64_t{0});
      std::int64_t found = 0;
      for (std::int64_t i = 0; i < x.numel(); ++i)
        if (a.in<T>(0)[i] != T{0}) store_place(x, i, found++, a.out<std::int64_t>(0));
      *a.out<std::int64_t>(1) = found;
    };
  });
}

// Threads count what they find in their part; then each knows the column of its first find.
Launcher parts(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [x = with_axis(p.inputs[0].shape)](const LaunchArgs& a) {
      constexpr std::size_t kMaxThreads = 1024;
      std::array<std::int64_t, kMaxThreads + 1> first{};
      const T* from = a.in<T>(0);
      auto* out = a.out<std::int64_t>(0);
      const auto each_part = [&](auto body) { parallel_for(x.numel(), kElementwiseGrain, body); };
      each_part([&](std::int64_t begin, std::int64_t end, int thread) {
        std::int64_t found = 0;
        for (std::int64_t i = begin; i < end; ++i) found += from[i] != T{0};
        first.at(static_cast<std::size_t>(thread) + 1) = found;
      });
      for (std::size_t t = 1; t < first.size(); ++t) first[t] += first[t - 1];
      const std::int64_t count = first.back();
      each_part([&](std::int64_t begin, std::int64_t end, int thread) {
        std::int64_t column = first[static_cast<std::size_t>(thread)];
        for (std::int64_t i = begin; i < end; ++i)
          if (from[i] != T{0}) store_place(x, i, column++, out);
      });
      for (int axis = 0; axis < x.rank(); ++axis)
        std::fill(out + axis * x.numel() + count, out + (axis + 1) * x.numel(), std::int64_t{0});
      *a.out<std::int64_t>(1) = count;
    };
  });
}

// 16-bit floats have a zero with a sign, which their bits do not show.
Verdict accepts(const Problem& p, const Target&) {
  if (is_16bit(p.inputs[0].dtype)) return refuse("16-bit floats need a GPU");
  return accept();
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto& [tier, shape] : std::vector<std::pair<Tier, Shape>>{{Tier::ci, Shape{}},
                                                                       {Tier::ci, {1}},
                                                                       {Tier::ci, {37}},
                                                                       {Tier::ci, {6, 7}},
                                                                       {Tier::ci, {2, 3, 4, 5}},
                                                                       {Tier::smoke, {70, 900}},
                                                                       {Tier::perf, {1024, 1024}}})
    for (const std::optional<DType> dtype :
         {std::optional<DType>(), std::optional(DType::boolean), std::optional(DType::i64)})
      list.push_back({.tier = tier,
                      .inputs = {shape},
                      .fills = {{Fill::Kind::digit, dtype == DType::boolean ? 2.0 : 3.0}},
                      .dtypes = {dtype}});
  return list;
}

}  // namespace
}  // namespace non_zero_cc

std::vector<Operator> non_zero_operators() {
  using namespace non_zero_cc;
  return {{.schema = {.name = "non_zero", .infer = infer, .cost = cost},
           .kernels = {{.name = "cuda:one_block",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_non_zero_cuda)},
                       {.name = "cpu:parts", .accepts = accepts, .prepare = parts},
                       {.name = "reference", .accepts = accepts, .prepare = reference}},
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom
