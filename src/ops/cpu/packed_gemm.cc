#include "ops/cpu/packed_gemm.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "ops/cpu/gemm_pack.h"

namespace headroom {
namespace {

// Blocks by their bytes and lines. 384 terms of fp32 are 12 rows of A in half a first-level cache; with 768
// columns of B they fill half a second-level one of 2 MiB. The widest block of B takes 4.5 MiB.
constexpr std::int64_t kTermBytes = 1536, kBlockRows = 480, kBlockColumns = 3072, kGroupColumns = 768;
// A factor that meets few panels of the other one is read where it is: copying it would take longer than it
// saves. Terms of B are rows, often pages apart, so a B beyond the first caches is copied sooner.
constexpr std::int64_t kInPlacePanels = 8, kInPlacePanelsFarApart = 2, kInPlaceBytes = 128 << 10;

std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }

// Memory of a thread that grows and stays: no product allocates after one of its size.
class PackedMemory {
 public:
  template <class T>
  T* at_least(std::int64_t count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_) {
      bytes_ = 0;
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

struct Range {
  std::int64_t begin, end;
};
Range share(std::int64_t count, std::int64_t part, std::int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// The threads lie over the result as a grid.
struct Team {
  int down = 1, across = 1;
  int size() const { return down * across; }
};

// What a team works on at a time.
struct Block {
  std::int64_t row, rows, column, columns, term, terms;
};

// A factor seen along its lines: rows of A, columns of B. One of the steps is 1.
template <class T>
struct GemmFactor {
  const T* data;
  std::int64_t line_step, term_step;
  const T* at(std::int64_t line, std::int64_t term) const {
    return data + line * line_step + term * term_step;
  }
};

template <class T>
class PackedProduct {
 public:
  PackedProduct(const gemm_tile::Tile<T>& tile, const GemmExtent& extent, GemmFactor<T> a, GemmFactor<T> b,
                T alpha, T beta, T* c, std::int64_t ldc, const AfterGemm<T>& after)
      : tile_(tile),
        m_(extent.m),
        n_(extent.n),
        k_(extent.k),
        a_(a),
        b_(b),
        alpha_(alpha),
        beta_(beta),
        c_(c),
        ldc_(ldc),
        after_(after),
        terms_(block_terms(extent.k)),
        packs_a_(columns_of(n_) > kInPlacePanels),
        packs_b_(b.line_step != 1 || rows_of(m_) > in_place_panels()) {}

  void run() {
    static thread_local PackedMemory of_a, of_b;
    const int threads = threads_worthwhile();
    rows_at_once_ = kBlockRows * team(threads).down;
    if (packs_a_) packed_a_ = of_a.at_least<T>(terms_ * std::min(m_, rows_at_once_));
    packed_b_ = of_b.at_least<T>(terms_ * columns_of(std::min(n_, kBlockColumns)) * tile_.columns);
    if (threads == 1) return share_of(0, 1);
#pragma omp parallel num_threads(threads)
    share_of(omp_get_thread_num(), omp_get_num_threads());
  }

 private:
  std::int64_t rows_of(std::int64_t rows) const { return pieces(rows, tile_.rows); }
  std::int64_t columns_of(std::int64_t columns) const { return pieces(columns, tile_.columns); }

  std::int64_t in_place_panels() const {
    const bool near = k_ * b_.term_step * std::int64_t{sizeof(T)} <= kInPlaceBytes;
    return near ? kInPlacePanels : kInPlacePanelsFarApart;
  }

  // A function of k alone, because it decides how sums are rounded.
  static std::int64_t block_terms(std::int64_t k) {
    constexpr std::int64_t kMax = kTermBytes / std::int64_t{sizeof(T)}, kMultiple = 4;
    return pieces(pieces(k, pieces(k, kMax)), kMultiple) * kMultiple;
  }

  // Each thread has work for longer than it takes to wake it and to wait for it, some microseconds.
  int threads_worthwhile() const {
    constexpr double kThreadFlops = sizeof(T) == 4 ? 1e6 : 5e5;  // 7 us of a core with AVX-512
    if (omp_in_parallel()) return 1;
    const double flops = 2.0 * double(m_) * double(n_) * double(k_);
    return static_cast<int>(std::clamp(flops / kThreadFlops, 1.0, double(omp_get_max_threads())));
  }

  // The grid whose largest share is smallest; of nearly equal ones the one with the widest shares, where
  // threads wait for each other the least.
  Team team(int threads) const {
    Team best;
    double least = INFINITY;
    for (int across = 1; across <= threads; ++across) {
      const int down = threads / across;
      const double tiles = double(pieces(rows_of(m_), down)) * double(pieces(columns_of(n_), across));
      if (tiles < 0.95 * least) best = {down, across}, least = tiles;
    }
    return best;
  }

  void share_of(int thread, int threads) const {
    const Team grid = team(threads);
    auto wait_for_all = [&] {
      if (threads > 1) {
#pragma omp barrier
      }
    };
    for (std::int64_t column = 0; column < n_; column += kBlockColumns)
      for (std::int64_t term = 0; term < k_; term += terms_)
        for (std::int64_t row = 0; row < m_; row += rows_at_once_) {
          const Block block{.row = row,
                            .rows = std::min(rows_at_once_, m_ - row),
                            .column = column,
                            .columns = std::min(kBlockColumns, n_ - column),
                            .term = term,
                            .terms = std::min(terms_, k_ - term)};
          // Threads whose rows are their own pack them without the others, unless their places change.
          const bool shares = row == 0 || (packs_a_ && (grid.across > 1 || block.rows < rows_at_once_));
          if (shares && row + term + column > 0) wait_for_all();  // for those who still read the last block
          if (packs_a_) pack_a(block, share(rows_of(block.rows), thread, threads));
          if (row == 0) pack_b(block, share(columns_of(block.columns), thread, threads));
          if (shares) wait_for_all();
          if (thread >= grid.size()) continue;
          multiply(block, share(rows_of(block.rows), thread / grid.across, grid.down),
                   share(columns_of(block.columns), thread % grid.across, grid.across));
        }
  }

  void pack_a(const Block& block, Range panels) const {
    for (std::int64_t i = panels.begin; i < panels.end; ++i) {
      const std::int64_t row = i * tile_.rows, rows = std::min<std::int64_t>(tile_.rows, block.rows - row);
      pack(a_, block.row + row, block, rows, rows, packed_a_ + row * block.terms);
    }
  }

  // to[terms][width]: `lines` lines from `line` on, and zeros up to `width`.
  void pack(const GemmFactor<T>& factor, std::int64_t line, const Block& block, std::int64_t lines,
            std::int64_t width, T* to) const {
    const T* const from = factor.at(line, block.term);
    if (factor.line_step == 1)
      pack_runs(from, factor.term_step, lines, block.terms, width, to);
    else
      tile_.pack(from, factor.line_step, lines, block.terms, width, to);
  }

  bool whole_vectors(std::int64_t columns) const { return columns % tile_.lanes == 0; }

  void pack_b(const Block& block, Range panels) const {
    for (std::int64_t j = panels.begin; j < panels.end; ++j) {
      const std::int64_t column = j * tile_.columns,
                         columns = std::min<std::int64_t>(tile_.columns, block.columns - column);
      if (packs_b_ || !whole_vectors(columns))
        pack(b_, block.column + column, block, columns, pieces(columns, tile_.lanes) * tile_.lanes,
             packed_b_ + column * block.terms);
    }
  }

  // A panel of B serves all rows of the block from the first or second cache, and C is met along its rows.
  void multiply(const Block& block, Range down, Range across) const {
    const std::int64_t group = kGroupColumns / tile_.columns;
    for (std::int64_t first = across.begin; first < across.end; first += group)
      for (std::int64_t i = down.begin; i < down.end; ++i)
        for (std::int64_t j = first; j < std::min(first + group, across.end); ++j)
          multiply_tile(block, i * tile_.rows, j * tile_.columns);
  }

  void multiply_tile(const Block& block, std::int64_t row, std::int64_t column) const {
    const auto rows = std::min<std::int64_t>(tile_.rows, block.rows - row),
               columns = std::min<std::int64_t>(tile_.columns, block.columns - column);
    gemm_tile::Factors<T> factors{.a = packed_a_ + row * block.terms,
                                  .a_row = 1,
                                  .a_term = rows,
                                  .b = packed_b_ + column * block.terms,
                                  .b_term = pieces(columns, tile_.lanes) * tile_.lanes};
    if (!packs_a_) {
      factors.a = a_.at(block.row + row, block.term);
      factors.a_row = a_.line_step, factors.a_term = a_.term_step;
    }
    if (!packs_b_ && whole_vectors(columns))
      factors.b = b_.at(block.column + column, block.term), factors.b_term = b_.term_step;
    T* const c = c_ + (block.row + row) * ldc_ + block.column + column;
    tile_.multiply(static_cast<int>(rows), static_cast<int>(columns), block.terms, factors, alpha_,
                   block.term == 0 ? beta_ : T{1}, c, ldc_);
    if (!after_ || block.term + block.terms < k_) return;
    for (std::int64_t i = 0; i < rows; ++i)
      after_(block.row + row + i, block.column + column, columns, c + i * ldc_);
  }

  const gemm_tile::Tile<T>& tile_;
  const std::int64_t m_, n_, k_;
  const GemmFactor<T> a_, b_;
  const T alpha_, beta_;
  T* const c_;
  const std::int64_t ldc_;
  const AfterGemm<T>& after_;
  const std::int64_t terms_;
  const bool packs_a_, packs_b_;
  std::int64_t rows_at_once_ = 0;
  T *packed_a_ = nullptr, *packed_b_ = nullptr;
};

// No terms to add.
template <class T>
void scale_only(const GemmExtent& extent, T beta, T* c, std::int64_t ldc, const AfterGemm<T>& after) {
  for (std::int64_t i = 0; i < extent.m; ++i) {
    for (std::int64_t j = 0; j < extent.n; ++j) c[i * ldc + j] = beta == 0 ? T{0} : beta * c[i * ldc + j];
    if (after) after(i, 0, extent.n, c + i * ldc);
  }
}

}  // namespace

template <class T>
void packed_gemm(const gemm_tile::Tile<T>& tile, bool trans_a, bool trans_b, const GemmExtent& extent,
                 T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                 std::int64_t ldc, const AfterGemm<T>& after) {
  if (extent.m <= 0 || extent.n <= 0) return;
  if (extent.k <= 0) return scale_only(extent, beta, c, ldc, after);
  const auto left = trans_a ? GemmFactor<T>{a, 1, lda} : GemmFactor<T>{a, lda, 1};
  const auto right = trans_b ? GemmFactor<T>{b, ldb, 1} : GemmFactor<T>{b, 1, ldb};
  PackedProduct<T>(tile, extent, left, right, alpha, beta, c, ldc, after).run();
}

template void packed_gemm(const gemm_tile::Tile<float>&, bool, bool, const GemmExtent&, float, const float*,
                          std::int64_t, const float*, std::int64_t, float, float*, std::int64_t,
                          const AfterGemm<float>&);
template void packed_gemm(const gemm_tile::Tile<double>&, bool, bool, const GemmExtent&, double,
                          const double*, std::int64_t, const double*, std::int64_t, double, double*,
                          std::int64_t, const AfterGemm<double>&);

}  // namespace headroom
