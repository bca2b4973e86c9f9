#pragma once

// One product in blocks: what a team of threads packs and multiplies. Part of packed_gemm.cc.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "ops/cpu/gemm_pack.h"
#include "ops/cpu/packed_gemm.h"
#include "ops/cpu/parallel.h"

namespace headroom::packed {

// Blocks by their bytes and lines. 384 terms of fp32 are 12 rows of A in half a first-level cache; with 768
// columns of B they fill half a second-level one of 2 MiB. The widest block of B takes 4.5 MiB.
inline constexpr std::int64_t kTermBytes = 1536, kBlockRows = 480, kBlockColumns = 3072, kGroupColumns = 768;
// A factor that meets few panels of the other one is read where it is: copying it would take longer than it
// saves. Terms of B are rows, often pages apart: then a B beyond the first caches is copied sooner.
inline constexpr std::int64_t kInPlacePanels = 8, kInPlacePanelsFarApart = 2, kInPlaceBytes = 128 << 10,
                              kNearBytes = 2048, kRunTerms = 16;

inline std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }

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
inline Range share(std::int64_t count, std::int64_t part, std::int64_t parts) {
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

  // B lies packed there already, as pack_right leaves it.
  void use_packed(const T* ready_b) { ready_b_ = ready_b, packs_b_ = true; }

  void run() {
    static thread_local PackedMemory of_a, of_b;
    const int threads = threads_worthwhile();
    rows_at_once_ = kBlockRows * team(threads).down;
    if (packs_a_) packed_a_ = of_a.at_least<T>(terms_ * std::min(m_, rows_at_once_));
    if (ready_b_ == nullptr)
      packed_b_ = of_b.at_least<T>(terms_ * columns_of(std::min(n_, kBlockColumns)) * tile_.columns);
    if (threads == 1) return share_of(0, 1);
#pragma omp parallel num_threads(threads)
    share_of(omp_get_thread_num(), omp_get_num_threads());
  }

  // All of B, block by block.
  void pack_right(T* to) {
    packs_b_ = true;
    for (std::int64_t column = 0; column < n_; column += kBlockColumns)
      for (std::int64_t term = 0; term < k_; term += terms_) {
        const Block block{.row = 0,
                          .rows = 0,
                          .column = column,
                          .columns = std::min(kBlockColumns, n_ - column),
                          .term = term,
                          .terms = std::min(terms_, k_ - term)};
        packed_b_ = to + place_in_packed(block);
        parallel_for(columns_of(block.columns), 4, [&](std::int64_t begin, std::int64_t end, int) {
          pack_b(block, {begin, end});
        });
      }
  }

 private:
  // Blocks of columns are whole tiles but for the last one.
  std::int64_t place_in_packed(const Block& block) const {
    return block.column * k_ + block.term * columns_of(block.columns) * tile_.columns;
  }
  std::int64_t rows_of(std::int64_t rows) const { return pieces(rows, tile_.rows); }
  std::int64_t columns_of(std::int64_t columns) const { return pieces(columns, tile_.columns); }

  std::int64_t in_place_panels() const {
    const std::int64_t step = b_.term_step * std::int64_t{sizeof(T)};
    return step <= kNearBytes || k_ * step <= kInPlaceBytes ? kInPlacePanels : kInPlacePanelsFarApart;
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
          if (row == 0 && ready_b_ == nullptr)
            pack_b(block, share(columns_of(block.columns), thread, threads));
          if (shares) wait_for_all();
          if (thread >= grid.size()) continue;
          multiply(block, share(rows_of(block.rows), thread / grid.across, grid.down),
                   share(columns_of(block.columns), thread % grid.across, grid.across));
        }
  }

  void pack_a(const Block& block, Range panels) const {
    pack(a_, block, panels, tile_.rows, block.row, block.rows, 1, packed_a_);
  }

  void pack_b(const Block& block, Range panels) const {
    if (!packs_b_ && !(panels.end == columns_of(block.columns) && !whole_vectors(block.columns))) return;
    if (!packs_b_) panels.begin = std::max(panels.begin, panels.end - 1);
    pack(b_, block, panels, tile_.columns, block.column, block.columns, tile_.lanes, packed_b_);
  }

  // Panels of up to `most` lines, of `lines` lines from `first` on: to[terms][lines], with zeros up to a
  // multiple of `multiple`. Where terms lie apart, all panels get a few of them at a time: these are few
  // pages.
  void pack(const GemmFactor<T>& factor, const Block& block, Range panels, std::int64_t most,
            std::int64_t first, std::int64_t lines, std::int64_t multiple, T* to) const {
    const bool runs = factor.line_step == 1;
    const std::int64_t at_once = runs ? kRunTerms : block.terms;
    for (std::int64_t term = 0; term < block.terms; term += at_once)
      for (std::int64_t i = panels.begin; i < panels.end; ++i) {
        const std::int64_t line = i * most, own = std::min(most, lines - line),
                           width = pieces(own, multiple) * multiple,
                           terms = std::min(at_once, block.terms - term);
        const T* const from = factor.at(first + line, block.term + term);
        T* const panel = to + line * block.terms + term * width;
        if (runs)
          pack_runs(from, factor.term_step, own, terms, width, panel);
        else
          tile_.pack(from, factor.line_step, own, terms, width, panel);
      }
  }

  bool whole_vectors(std::int64_t columns) const { return columns % tile_.lanes == 0; }

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
    gemm_tile::Factors<T> factors{
        .a = packed_a_ + row * block.terms,
        .a_row = 1,
        .a_term = rows,
        .b = (ready_b_ == nullptr ? packed_b_ : ready_b_ + place_in_packed(block)) + column * block.terms,
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
  const bool packs_a_;
  bool packs_b_;
  const T* ready_b_ = nullptr;
  std::int64_t rows_at_once_ = 0;
  T *packed_a_ = nullptr, *packed_b_ = nullptr;
};

}  // namespace headroom::packed
