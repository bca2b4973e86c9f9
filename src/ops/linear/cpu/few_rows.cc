// A linear layer with few rows. The weights are most of what moves: each comes from memory once, while the
// products of earlier ones are computed. A packed product would first transpose all weights. Here sums run
// along the inputs, so both factors are read in the order in which they lie. The bits do not depend on the
// number of threads.
#include <algorithm>

#include "ops/cpu/interleave.h"
#include "ops/cpu/lanes.h"
#include "ops/linear/cpu/after_gemm.h"

namespace headroom {
namespace linear_cpu_few_rows_cc {
namespace {

constexpr std::int64_t kMaxFewRows = 48;
using simd::Vec;

// Sums in registers: 12 x 2 leave eight of 32 for factors, 6 x 2 leave four of 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kMaps = 12, kRows = 2;
#else
constexpr int kMaps = 6, kRows = 2;
#endif
// With so few rows, copying weights takes as long as multiplying them: they are multiplied where they lie.
constexpr std::int64_t kDirectRows = 4;
constexpr int kDirectMaps = 4;
constexpr std::int64_t kBlockBytes = 1536;  // inputs of a row: a tile's weights stay in the first-level cache
// Inputs of all rows: they stay in the second-level cache for all maps.
constexpr std::int64_t kInputBytes = 512 << 10;

std::int64_t in_multiples(std::int64_t n, std::int64_t of) { return (n + of - 1) / of * of; }

template <class T>
constexpr std::int64_t kL = simd::kLanes<T>;

// Copies kCount rows: a register of each row in turn, with zeros after the last input.
template <class T, int kCount>
void pack_lines(std::int64_t n, std::int64_t pitch, const T* from, T* to) {
  std::int64_t k = 0;
  for (; k + kL<T> <= n; k += kL<T>, to += kCount * kL<T>)
    for (int i = 0; i < kCount; ++i) simd::store(to + i * kL<T>, simd::load(from + i * pitch + k));
  if (k < n)
    for (int i = 0; i < kCount; ++i)
      simd::store(to + i * kL<T>, simd::load_some(from + i * pitch + k, n - k));
}

template <class T, int kCount = kMaps>
void pack_maps(std::int64_t maps, std::int64_t n, std::int64_t pitch, const T* from, T* to) {
  if constexpr (kCount > 1)
    if (maps < kCount) return pack_maps<T, kCount - 1>(maps, n, pitch, from, to);
  pack_lines<T, kCount>(n, pitch, from, to);
}

// Weights to prefetch: tile number `part` of `parts` fetches lines part, part + parts, and so on.
template <class T>
struct Ahead {
  const T* weights;
  std::int64_t pitch, lines, part, parts;
};

// The weights of a tile: those of its maps `pitch` apart, or packed.
template <class T>
struct TileWeights {
  const T* w;
  std::int64_t pitch;  // 0: packed
};

// Adds the products of `steps` registers of inputs to sums of kR rows x kM maps, lane by lane. A function of
// its own: within a larger one, g++ 12 keeps sums in memory.
template <class T, int kR, int kM, bool kPacked>
[[gnu::noinline]] void tile(std::int64_t steps, const T* x, const TileWeights<T>& weights,
                            const Ahead<T>& ahead, T* sums) {
  const std::int64_t pitch = kPacked ? kL<T> : weights.pitch;
  const T* w = weights.w;
  const T* ask[kMaps];
  int asks = 0;
  for (std::int64_t m = ahead.part; m < ahead.lines; m += ahead.parts)
    ask[asks++] = ahead.weights + m * ahead.pitch;
  Vec<T> s[kR][kM];
#pragma GCC unroll 2
  for (int r = 0; r < kR; ++r)
#pragma GCC unroll 12
    for (int m = 0; m < kM; ++m) s[r][m] = simd::load(sums + (r * kM + m) * kL<T>);
  for (std::int64_t k = 0; k < steps; ++k, x += kR * kL<T>, w += kPacked ? kM * kL<T> : kL<T>) {
    for (int i = 0; i < asks; ++i) __builtin_prefetch(ask[i] + k * kL<T>, 0, 2);
    Vec<T> row[kR];
#pragma GCC unroll 2
    for (int r = 0; r < kR; ++r) row[r] = simd::load(x + r * kL<T>);
#pragma GCC unroll 12
    for (int m = 0; m < kM; ++m) {
      const Vec<T> weight = simd::loaded(simd::load(w + m * pitch));
#pragma GCC unroll 2
      for (int r = 0; r < kR; ++r) s[r][m] += row[r] * weight;
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kR; ++r)
#pragma GCC unroll 12
    for (int m = 0; m < kM; ++m) simd::store(sums + (r * kM + m) * kL<T>, s[r][m]);
}

template <class T, int kM = kMaps>
void tile_of(std::int64_t rows, std::int64_t maps, std::int64_t steps, const T* x, const TileWeights<T>& w,
             const Ahead<T>& ahead, T* sums) {
  if constexpr (kM > 1)
    if (maps < kM) return tile_of<T, kM - 1>(rows, maps, steps, x, w, ahead, sums);
  if constexpr (kM <= kDirectMaps)
    if (w.pitch > 0)
      return rows == kRows ? tile<T, kRows, kM, false>(steps, x, w, ahead, sums)
                           : tile<T, 1, kM, false>(steps, x, w, ahead, sums);
  if (rows == kRows) return tile<T, kRows, kM, true>(steps, x, w, ahead, sums);
  tile<T, 1, kM, true>(steps, x, w, ahead, sums);
}

template <class T>
struct FewRows {
  LinearProblem l;

  std::int64_t block() const { return kBlockBytes / static_cast<std::int64_t>(sizeof(T)); }
  // Inputs that are multiplied with all maps before the next ones are.
  std::int64_t inputs() const {
    const std::int64_t most = kInputBytes / static_cast<std::int64_t>(sizeof(T)) / l.rows;
    return std::min(std::max(most / block(), std::int64_t{1}), (l.in + block() - 1) / block()) * block();
  }
  // Elements of one thread: rows of inputs, weights, sums.
  std::int64_t packed_inputs() const { return l.rows * inputs(); }
  std::int64_t packed_weights() const { return kMaps * block(); }
  std::int64_t sums() const { return in_multiples(l.rows * kMaps, kL<T>) * kL<T>; }
  std::int64_t of_thread() const { return packed_inputs() + packed_weights() + sums(); }

  bool direct() const { return l.rows <= kDirectRows; }
  std::int64_t tile_maps() const { return direct() ? kDirectMaps : kMaps; }
  std::int64_t maps_at(std::int64_t tile) const { return std::min(tile_maps(), l.out - tile * tile_maps()); }

  // Blocks of `block()` inputs one after the other, the rows of a tile side by side.
  void pack_inputs(std::int64_t first, std::int64_t count, const T* x, T* to) const {
    for (std::int64_t k = 0; k < count; k += block(), to += l.rows * block())
      for (std::int64_t r = 0; r < l.rows;) {
        const std::int64_t rows = std::min<std::int64_t>(kRows, l.rows - r), n = std::min(block(), count - k);
        const T* const from = x + r * l.in + first + k;
        T* const at = to + r * block();
        rows == kRows ? pack_lines<T, kRows>(n, l.in, from, at) : pack_lines<T, 1>(n, l.in, from, at);
        r += rows;
      }
  }

  // One block of inputs times the weights of some maps.
  void multiply(std::int64_t maps, std::int64_t n, const T* x, const TileWeights<T>& w, Ahead<T> ahead,
                T* sum) const {
    const std::int64_t steps = (n + kL<T> - 1) / kL<T>;
    ahead.part = 0, ahead.parts = (l.rows + kRows - 1) / kRows;
    for (std::int64_t r = 0; r < l.rows; ++ahead.part) {
      const std::int64_t rows = std::min<std::int64_t>(kRows, l.rows - r);
      tile_of<T>(rows, maps, steps, x + r * block(), w, ahead, sum + r * maps * kL<T>);
      r += rows;
    }
  }

  // Adds the lanes of each sum of a tile and writes the results to y.
  void add_lanes(std::int64_t maps, bool first, T* sum, T* y) const {
    const std::int64_t count = l.rows * maps;
    std::fill(sum + count * kL<T>, sum + in_multiples(count, kL<T>) * kL<T>, T{0});
    for (std::int64_t i = 0; i < count; i += kL<T>)
      simd::store(sum + i, simd::sums_of_each<T>(sum + i * kL<T>));
    for (std::int64_t r = 0; r < l.rows; ++r, sum += maps, y += l.out)
      for (std::int64_t m = 0; m < maps; ++m) y[m] = first ? sum[m] : y[m] + sum[m];
  }

  // Tiles of maps [begin, end) with all inputs.
  void run(std::int64_t begin, std::int64_t end, const T* x, const T* w, T* y, T* memory) const {
    T *const packed_x = memory, *const packed_w = packed_x + packed_inputs(),
             *const sum = packed_w + packed_weights();
    for (std::int64_t first = 0; first < l.in; first += inputs()) {
      const std::int64_t count = std::min(inputs(), l.in - first);
      pack_inputs(first, count, x, packed_x);
      for (std::int64_t t = begin; t < end; ++t) {
        const std::int64_t maps = maps_at(t);
        const T* const of_tile = w + t * tile_maps() * l.in + first;
        std::fill(sum, sum + l.rows * maps * kL<T>, T{0});
        for (std::int64_t k = 0; k < count; k += block()) {
          const std::int64_t n = std::min(block(), count - k);
          const bool last = k + block() >= count, goes_on = !last || t + 1 < end;
          const Ahead<T> ahead{.weights = last ? of_tile + tile_maps() * l.in : of_tile + k + block(),
                               .pitch = l.in,
                               .lines = direct() || !goes_on ? 0
                                        : last               ? maps_at(t + 1)
                                                             : maps};
          TileWeights<T> weights{of_tile + k, l.in};
          if (!direct() || n % kL<T> != 0) {  // a register would reach beyond the last input
            pack_maps<T>(maps, n, l.in, of_tile + k, packed_w);
            weights = {packed_w, 0};
          }
          multiply(maps, n, packed_x + k * l.rows, weights, ahead, sum);
        }
        add_lanes(maps, first == 0, sum, y + t * tile_maps());
      }
    }
  }

  void operator()(const T* x, const T* w, T* y, T* workspace) const {
    const std::int64_t tiles = (l.out + tile_maps() - 1) / tile_maps(),
                       grain = kElementwiseGrain / (tile_maps() * l.in * l.rows) + 1;
    parallel_for(tiles, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(begin, end, x, w, y, workspace + thread * of_thread());
    });
  }
};

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  constexpr std::int64_t kCached = 1 << 20;
  if (linear_problem(p.inputs, p.attrs).rows > kMaxFewRows)
    return refuse(fmt::format("more than {} rows: a packed product is faster", kMaxFewRows));
  if (p.inputs[1].bytes() < kCached)
    return refuse("the weights fit into a cache: a packed product is faster");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const FewRows<T> product{linear_problem(p.inputs, p.attrs)};
    return static_cast<std::size_t>(target.device.threads * product.of_thread()) * sizeof(T);
  });
}

Work work(const Problem& p, const Target& target) {
  return least_work(p, target).with("cpu.few_rows", ordinary_unit(p.outputs[0].dtype));
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [product = FewRows<T>{linear_problem(p.inputs, p.attrs)}](const LaunchArgs& a) {
      T* y = a.out<T>(0);
      product(a.in<T>(0), a.in<T>(1), y, static_cast<T*>(a.workspace));
      linear::finish_rows(product.l, product.l.bias ? a.in<T>(2) : nullptr, y);
    };
  });
}

}  // namespace
}  // namespace linear_cpu_few_rows_cc

Kernel linear_cpu_few_rows() {
  using namespace linear_cpu_few_rows_cc;
  return {
      .name = "cpu:few_rows", .accepts = accepts, .work = work, .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
