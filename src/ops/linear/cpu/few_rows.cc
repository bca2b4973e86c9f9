// Few rows: then the weights are most of what moves, and each is read from memory once, where it lies. A
// packed product copies them first. The bits do not depend on the number of threads.
#include <algorithm>

#include "ops/cpu/simd.h"
#include "ops/linear/cpu/after_gemm.h"

namespace headroom {
namespace linear_cpu_few_rows_cc {
namespace {

constexpr std::int64_t kMaxFewRows = 32;
using simd::Vec;

constexpr int kMaps = 4, kRows = 4;    // sums in registers: 16
constexpr std::int64_t kBlock = 1024;  // of inputs: four rows of both fit into the first cache

template <class T>
Vec<T> load_first(const T* from, std::int64_t count) {
  Vec<T> v{};
  for (int i = 0; i < count; ++i) v[i] = from[i];
  return v;
}

// Adds the products of `n` inputs to sums of kR rows x kM maps, lane by lane.
template <class T, int kR, int kM>
void tile(std::int64_t n, std::int64_t in, const T* x, const T* w, Vec<T>* sums) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  Vec<T> s[kR][kM];
  for (int r = 0; r < kR; ++r)
    for (int m = 0; m < kM; ++m) s[r][m] = sums[r * kMaps + m];
  auto add = [&](auto&& load) {
    Vec<T> weight[kM];
    for (int m = 0; m < kM; ++m) weight[m] = load(w + m * in);
    for (int r = 0; r < kR; ++r) {
      const Vec<T> row = load(x + r * in);
      for (int m = 0; m < kM; ++m) s[r][m] += row * weight[m];
    }
  };
  std::int64_t k = 0;
  for (; k + kL <= n; k += kL) add([&](const T* at) { return simd::load(at + k); });
  if (k < n) add([&](const T* at) { return load_first(at + k, n - k); });
  for (int r = 0; r < kR; ++r)
    for (int m = 0; m < kM; ++m) sums[r * kMaps + m] = s[r][m];
}

template <class T, int kM>
void rows_of_tile(std::int64_t rows, std::int64_t n, std::int64_t in, const T* x, const T* w, Vec<T>* sums) {
  std::int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) tile<T, kRows, kM>(n, in, x + r * in, w, sums + r * kMaps);
  if (r + 2 <= rows) tile<T, 2, kM>(n, in, x + r * in, w, sums + r * kMaps), r += 2;
  if (r < rows) tile<T, 1, kM>(n, in, x + r * in, w, sums + r * kMaps);
}

// y[rows, out] = x[rows, in] w[out, in]^T
template <class T>
void few_rows(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* w, T* y) {
  const std::int64_t tiles = (out + kMaps - 1) / kMaps;
  const std::int64_t grain = kElementwiseGrain / (kMaps * in * rows) + 1;
  parallel_for(tiles, grain, [&](std::int64_t begin, std::int64_t end, int) {
    Vec<T> sums[kMaxFewRows * kMaps];
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t map = t * kMaps, maps = std::min<std::int64_t>(kMaps, out - map);
      std::fill(sums, sums + rows * kMaps, Vec<T>{});
      for (std::int64_t k = 0; k < in; k += kBlock) {
        const std::int64_t n = std::min(kBlock, in - k);
        const T *from = x + k, *weights = w + map * in + k;
        if (maps == kMaps)
          rows_of_tile<T, kMaps>(rows, n, in, from, weights, sums);
        else
          for (std::int64_t m = 0; m < maps; ++m)
            rows_of_tile<T, 1>(rows, n, in, from, weights + m * in, sums + m);
      }
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t m = 0; m < maps; ++m) y[r * out + map + m] = simd::sum<T>(sums[r * kMaps + m]);
    }
  });
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  constexpr std::int64_t kCached = 1 << 20;
  if (linear_problem(p.inputs, p.attrs).rows > kMaxFewRows)
    return refuse("more than 32 rows: a packed product is faster");
  if (p.inputs[1].bytes() < kCached)
    return refuse("the weights fit into a cache: a packed product is faster");
  return accept();
}

// With 16 rows a Neoverse V1 was seen at two thirds of its peak, with one at the speed of memory.
Work work(const Problem& p, const Target& target) {
  return least_work(p, target).with("cpu.few_rows", ordinary_unit(p.outputs[0].dtype));
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [l = linear_problem(p.inputs, p.attrs)](const LaunchArgs& a) {
      T* y = a.out<T>(0);
      few_rows(l.rows, l.in, l.out, a.in<T>(0), a.in<T>(1), y);
      linear::finish_rows(l, l.bias ? a.in<T>(2) : nullptr, y);
    };
  });
}

}  // namespace
}  // namespace linear_cpu_few_rows_cc

Kernel linear_cpu_few_rows() {
  using namespace linear_cpu_few_rows_cc;
  return {.name = "cpu:few_rows", .accepts = accepts, .work = work, .prepare = prepare};
}

}  // namespace headroom
