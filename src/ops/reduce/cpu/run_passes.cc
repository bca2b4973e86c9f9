#include "ops/reduce/cpu/run_passes.h"

#include <algorithm>
#include <cstring>

#include "ops/cpu/parallel.h"

namespace headroom {
namespace reduce_cpu_run_passes_cc {
namespace {

using simd::kLanes;
using simd::Vec;

// Contiguous elements, on four vectors of partial results to hide the latency of joining.
template <class F, class T>
T reduce_row(std::int64_t n, const T* x) {
  T total = F::template identity<T>();
  std::int64_t i = 0;
  if (n >= kLanes<T>) {
    Vec<T> part[4];
    for (Vec<T>& p : part) p = simd::broadcast(total);
    for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>)
      for (int k = 0; k < 4; ++k) part[k] = F::join(part[k], simd::load(x + i + k * kLanes<T>));
    for (; i + kLanes<T> <= n; i += kLanes<T>) part[0] = F::join(part[0], simd::load(x + i));
    const Vec<T> all = F::join(F::join(part[0], part[1]), F::join(part[2], part[3]));
    for (int k = 0; k < kLanes<T>; ++k) total = F::join(total, T{all[k]});
  }
  for (; i < n; ++i) total = F::join(total, x[i]);
  return total;
}

// load(0) to load(count - 1) joined in pairs; count is a power of two.
template <class F, int count, class Load>
auto join_rows(Load&& load) {
  if constexpr (count == 1) {
    return load(0);
  } else {
    const auto low = join_rows<F, count / 2>(load);
    const auto high = join_rows<F, count / 2>([&](int r) { return load(r + count / 2); });
    return F::join(low, high);
  }
}

// out[0, width) = `rows` rows of that width, `stride` apart, joined; eight at a time to spare the
// accumulators.
template <class F, class T>
void reduce_columns(std::int64_t rows, std::int64_t width, std::int64_t stride, const T* x, T* out) {
  constexpr int kRows = 8;
  std::memcpy(out, x, static_cast<std::size_t>(width) * sizeof(T));
  std::int64_t r = 1;
  for (; r + kRows <= rows; r += kRows) {
    const T* from = x + r * stride;
    std::int64_t i = 0;
    for (; i + kLanes<T> <= width; i += kLanes<T>) {
      const Vec<T> all = join_rows<F, kRows>([&](int k) { return simd::load(from + k * stride + i); });
      simd::store(out + i, F::join(simd::load(out + i), all));
    }
    for (; i < width; ++i)
      out[i] = F::join(out[i], join_rows<F, kRows>([&](int k) { return from[k * stride + i]; }));
  }
  for (; r < rows; ++r)
    simd::map2(width, out, x + r * stride, out, [](Vec<T> a, Vec<T> b) { return F::join(a, b); });
}

constexpr std::int64_t kFoldedWidth = 64;

// The same for whole rows that are too short to fill vectors: several are taken as one, and joined at the
// end.
template <class F, class T>
void reduce_narrow(std::int64_t rows, std::int64_t width, const T* x, T* out) {
  const std::int64_t fold = kFoldedWidth / width, bands = rows / fold;
  if (bands < 2) return reduce_columns<F>(rows, width, width, x, out);
  T band[kFoldedWidth];
  reduce_columns<F>(bands, fold * width, fold * width, x, band);
  std::memcpy(out, band, static_cast<std::size_t>(width) * sizeof(T));
  for (std::int64_t k = 1; k < fold; ++k)
    for (std::int64_t i = 0; i < width; ++i) out[i] = F::join(out[i], band[k * width + i]);
  for (std::int64_t r = bands * fold; r < rows; ++r)
    for (std::int64_t i = 0; i < width; ++i) out[i] = F::join(out[i], x[r * width + i]);
}

template <class F, class T>
void rows_pass(const Pass& p, const T* x, T scale, T* y, T* partial) {
  const std::int64_t chunks = p.chunks(), step = p.chunk();
  T* results = chunks == 1 ? y : partial;
  parallel_for(p.outer * chunks, kElementwiseGrain / std::min(step, p.length) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   const std::int64_t row = u / chunks, from = u % chunks * step;
                   const T part = reduce_row<F>(std::min(step, p.length - from), x + row * p.length + from);
                   results[u] = chunks == 1 ? scale * part : part;
                 }
               });
  if (chunks == 1) return;
  for (std::int64_t row = 0; row < p.outer; ++row) {
    double total = F::template identity<double>();
    for (std::int64_t k = 0; k < chunks; ++k) total = F::join(total, double{partial[row * chunks + k]});
    y[row] = static_cast<T>(static_cast<double>(scale) * total);
  }
}

constexpr std::int64_t kTile = 1024;  // columns at a time, so that the accumulators stay in the nearest cache

template <class F, class T>
void columns_pass(const Pass& p, const T* x, T scale, T* y, T* partial) {
  const std::int64_t chunks = p.chunks(), step = p.chunk(), tiles = (p.inner + kTile - 1) / kTile;
  const std::int64_t unit = std::min(step, p.length) * std::min(kTile, p.inner);
  T* results = chunks == 1 ? y : partial;
  parallel_for(
      p.outer * chunks * tiles, kElementwiseGrain / unit + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t u = begin; u < end; ++u) {
          const std::int64_t block = u / tiles, column = u % tiles * kTile, from = block % chunks * step;
          const std::int64_t rows = std::min(step, p.length - from),
                             width = std::min(kTile, p.inner - column);
          const T* source = x + (block / chunks * p.length + from) * p.inner + column;
          T* to = results + block * p.inner + column;
          if (p.inner <= kFoldedWidth / 2)
            reduce_narrow<F>(rows, width, source, to);
          else
            reduce_columns<F>(rows, width, p.inner, source, to);
          if (chunks == 1 && scale != T{1}) simd::map(width, to, to, [=](Vec<T> v) { return v * scale; });
        }
      });
  if (chunks == 1) return;
  parallel_for(p.outer * tiles, kElementwiseGrain / (chunks * std::min(kTile, p.inner)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   const std::int64_t o = u / tiles, column = u % tiles * kTile;
                   const std::int64_t width = std::min(kTile, p.inner - column);
                   T* to = y + o * p.inner + column;
                   reduce_columns<F>(chunks, width, p.inner, partial + o * chunks * p.inner + column, to);
                   if (scale != T{1}) simd::map(width, to, to, [=](Vec<T> v) { return v * scale; });
                 }
               });
}

std::int64_t partials_of(const Pass& pass) { return pass.chunks() == 1 ? 0 : pass.results() * pass.chunks(); }

}  // namespace
}  // namespace reduce_cpu_run_passes_cc

std::int64_t scratch_of(const std::vector<Pass>& passes) {
  using namespace reduce_cpu_run_passes_cc;
  std::int64_t partials = 0, between = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    partials = std::max(partials, partials_of(passes[i]));
    if (i + 1 < passes.size()) between += passes[i].results();
  }
  return partials + between;
}

template <class F, class T>
void run_passes(const std::vector<Pass>& passes, std::int64_t n, const T* x, T scale, T* y, T* scratch) {
  using namespace reduce_cpu_run_passes_cc;
  if (passes.empty()) {
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  T* partial = scratch;
  for (const Pass& pass : passes) scratch = std::max(scratch, partial + partials_of(pass));
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const bool last = i + 1 == passes.size();
    T* to = last ? y : scratch;
    (passes[i].inner == 1 ? rows_pass<F, T> : columns_pass<F, T>)(passes[i], x, last ? scale : T{1}, to,
                                                                  partial);
    x = to;
    scratch += passes[i].results();
  }
}

template void run_passes<Sum>(const std::vector<Pass>&, std::int64_t, const float*, float, float*, float*);
template void run_passes<Sum>(const std::vector<Pass>&, std::int64_t, const double*, double, double*,
                              double*);
template void run_passes<Max>(const std::vector<Pass>&, std::int64_t, const float*, float, float*, float*);
template void run_passes<Max>(const std::vector<Pass>&, std::int64_t, const double*, double, double*,
                              double*);

}  // namespace headroom
