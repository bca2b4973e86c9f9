#pragma once

// One product in blocks: what a team of threads packs and multiplies. Part of packed_gemm.cc.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "ops/cpu/gemm_pack.h"
#include "ops/cpu/gemm_shares.h"
#include "ops/cpu/packed_gemm.h"
#include "ops/cpu/parallel.h"

namespace headroom::packed {

// A block of A has so many rows for each row of threads: B comes from the third-level cache once for all of
// them. A block of B has so many columns.
inline constexpr std::int64_t kBlockRows = 768, kBlockColumns = 3072;
// A factor that meets few panels of the other one is read where it is: copying it would take longer than it
// saves. Terms of B are rows, often pages apart: then a B beyond the first caches is copied sooner.
inline constexpr std::int64_t kInPlacePanelsOfA = 16, kInPlacePanels = 8, kInPlacePanelsFarApart = 2,
                              kInPlaceBytes = 128 << 10, kNearBytes = 2048, kRunTerms = 16;
inline constexpr std::int64_t kFewPanels = 16;

// The half of the second-level cache of this processor, for panels of B. The other half is for what passes
// by: panels of A, rows of C.
inline std::int64_t group_bytes() {
  static const std::int64_t bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0: unknown
  return (bytes > 0 ? bytes : 1 << 20) / 2;
}

// Memory of a thread that grows and stays: no product allocates after one of its size.
class PackedMemory {
 public:
  template <class T>
  T* at_least(std::int64_t count) {
    auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_) {
      if (bytes >= kHugePage / 2) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
      bytes_ = 0;
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      ::madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // in vain where there are none
      bytes_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::size_t kHugePage = 2 << 20;
  static constexpr std::align_val_t kAlignment{kHugePage};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

// What a team works on at a time. The places are those of its packed factors.
template <class T>
struct Block {
  std::int64_t row, rows, column, columns, term, terms;
  T *a, *b;
};

// A function of k and the tile alone, because it decides how sums are rounded.
template <class T>
std::int64_t block_terms(const gemm_tile::Tile<T>& tile, std::int64_t k) {
  return even_pieces(k, tile.term_bytes / std::int64_t{sizeof(T)}, 4);
}

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
        terms_(block_terms(tile, extent.k)),
        columns_at_once_(even_pieces(extent.n, kBlockColumns, tile.columns)),
        packs_a_(columns_of(n_) > kInPlacePanelsOfA),
        packs_b_(b.line_step != 1 || rows_of(m_) > in_place_panels()) {}

  // B lies packed there already, as pack_right leaves it.
  void use_packed(const T* ready_b) { ready_b_ = ready_b, packs_b_ = true; }

  void run() {
    static thread_local PackedMemory of_a, of_b;
    const int threads = product_threads(tile_, {m_, n_, k_}, team_limit());
    const Grid grid = grid_of(threads, rows_of(m_), columns_of(n_), tile_.rows, tile_.columns);
    rows_at_once_ = even_pieces(m_, kBlockRows * grid.down, tile_.rows);
    // Few rows soon want the next block of B: this one is still where it was packed.
    if (ready_b_ == nullptr && rows_of(m_) <= kFewPanels)
      columns_at_once_ = even_pieces(n_, threads * group_panels() * tile_.columns, tile_.columns);
    // Threads pack a block while others still read the one before.
    const int buffers = threads > 1 ? 2 : 1;
    if (packs_a_) packed_a_ = of_a.at_least<T>(buffers * terms_ * rows_at_once_);
    if (ready_b_ == nullptr) packed_b_ = of_b.at_least<T>(buffers * terms_ * columns_at_once_);
    const TaskQueues queues(grid);
    TeamBarrier barrier(threads);
    if (threads == 1) return share_of(0, 1, queues, barrier);
    run_team(threads, [&](int thread) {
      const Span span(kWorkerSpan, SpanKind::worker);
      share_of(thread, threads, queues, barrier);
    });
  }

  // All of B, block by block.
  void pack_right(T* to) {
    packs_b_ = true;
    for (std::int64_t column = 0; column < n_; column += columns_at_once_)
      for (std::int64_t term = 0; term < k_; term += terms_) {
        Block<T> block = block_at(0, column, term);
        block.b = to + place_in_packed(block);
        parallel_for(columns_of(block.columns), 4, [&](std::int64_t begin, std::int64_t end, int) {
          pack_b(block, {begin, end});
        });
      }
  }

 private:
  // Blocks of columns are whole tiles but for the last one.
  std::int64_t place_in_packed(const Block<T>& block) const {
    return block.column * k_ + block.term * columns_of(block.columns) * tile_.columns;
  }
  std::int64_t rows_of(std::int64_t rows) const { return pieces(rows, tile_.rows); }
  std::int64_t columns_of(std::int64_t columns) const { return pieces(columns, tile_.columns); }

  // Panels of B that stay in the second-level cache.
  std::int64_t group_panels() const {
    return std::max<std::int64_t>(1, group_bytes() / (terms_ * tile_.columns * std::int64_t{sizeof(T)}));
  }

  std::int64_t in_place_panels() const {
    const std::int64_t step = b_.term_step * std::int64_t{sizeof(T)};
    return step <= kNearBytes || k_ * step <= kInPlaceBytes ? kInPlacePanels : kInPlacePanelsFarApart;
  }

  Block<T> block_at(std::int64_t row, std::int64_t column, std::int64_t term) const {
    return {.row = row,
            .rows = std::min(rows_at_once_, m_ - row),
            .column = column,
            .columns = std::min(columns_at_once_, n_ - column),
            .term = term,
            .terms = std::min(terms_, k_ - term),
            .a = packed_a_,
            .b = packed_b_};
  }

  void share_of(int thread, int threads, const TaskQueues& queues, TeamBarrier& barrier) const {
    const std::int64_t group = group_panels();
    // Blocks of A that serve all columns are packed once: then columns follow each other, else terms do.
    const std::int64_t row_blocks = pieces(m_, rows_at_once_), term_blocks = pieces(k_, terms_),
                       column_blocks = pieces(n_, columns_at_once_),
                       in_turn = row_blocks == 1 ? column_blocks : 1;
    for (std::int64_t round = 0; round < row_blocks * term_blocks * column_blocks; ++round) {
      const std::int64_t of_a = round / in_turn, of_b = round / row_blocks, row = round % row_blocks,
                         term = in_turn > 1 ? of_a : of_b % term_blocks,
                         column = in_turn > 1 ? round % in_turn : of_b / term_blocks;
      Block<T> block = block_at(row * rows_at_once_, column * columns_at_once_, term * terms_);
      if (threads > 1 && packs_a_) block.a += of_a % 2 * terms_ * rows_at_once_;
      if (threads > 1 && ready_b_ == nullptr) block.b += of_b % 2 * terms_ * columns_at_once_;
      const bool packs = packs_a_ || (ready_b_ == nullptr && (packs_b_ || !whole_vectors(block.columns)));
      if (packs_a_ && round % in_turn == 0) pack_a(block, share(rows_of(block.rows), thread, threads));
      if (row == 0 && ready_b_ == nullptr) pack_b(block, share(columns_of(block.columns), thread, threads));
      if (threads > 1 && (packs || round > 0)) barrier.wait();
      queues.run(thread, round, rows_of(block.rows), columns_of(block.columns), group,
                 [&](std::int64_t row_panel, std::int64_t first, std::int64_t end) {
                   multiply_strip(block, row_panel * tile_.rows, first, end);
                 });
    }
  }

  // Tiles side by side, and what happens to finished ones: over all of them at once, because short pieces of
  // rows take three times as long.
  void multiply_strip(const Block<T>& block, std::int64_t row, std::int64_t first, std::int64_t end) const {
    for (std::int64_t j = first; j < end; ++j) multiply_tile(block, row, j * tile_.columns, j - first);
    if (!after_ || block.term + block.terms < k_) return;
    const std::int64_t column = first * tile_.columns,
                       columns = std::min(end * tile_.columns, block.columns) - column;
    for (std::int64_t i = block.row + row; i < block.row + std::min(row + tile_.rows, block.rows); ++i)
      after_(i, block.column + column, columns, c_ + i * ldc_ + block.column + column);
  }

  void pack_a(const Block<T>& block, Range panels) const {
    pack(a_, block, panels, tile_.rows, block.row, block.rows, 1, block.a);
  }

  void pack_b(const Block<T>& block, Range panels) const {
    if (!packs_b_ && !(panels.end == columns_of(block.columns) && !whole_vectors(block.columns))) return;
    if (!packs_b_) panels.begin = std::max(panels.begin, panels.end - 1);
    pack(b_, block, panels, tile_.columns, block.column, block.columns, tile_.lanes, block.b);
  }

  // Panels of up to `most` lines, of `lines` lines from `first` on: to[terms][lines], with zeros up to a
  // multiple of `multiple`. Where terms lie apart, all panels get a few of them at a time: these are few
  // pages.
  void pack(const GemmFactor<T>& factor, const Block<T>& block, Range panels, std::int64_t most,
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

  // Tiles of a strip fetch the panel of A below theirs meanwhile, one part each.
  void multiply_tile(const Block<T>& block, std::int64_t row, std::int64_t column, std::int64_t part) const {
    const auto rows = std::min<std::int64_t>(tile_.rows, block.rows - row),
               columns = std::min<std::int64_t>(tile_.columns, block.columns - column);
    gemm_tile::Factors<T> factors{
        .a = block.a + row * block.terms,
        .a_row = 1,
        .a_term = rows,
        .b = (ready_b_ == nullptr ? block.b : ready_b_ + place_in_packed(block)) + column * block.terms,
        .b_term = pieces(columns, tile_.lanes) * tile_.lanes,
        .next_a = block.a + (row + tile_.rows + part * gemm_tile::kFetched) * block.terms};
    if (!packs_a_) {
      factors.a = a_.at(block.row + row, block.term);
      factors.a_row = a_.line_step, factors.a_term = a_.term_step;
      factors.next_a = factors.a;
    }
    if (!packs_b_ && whole_vectors(columns))
      factors.b = b_.at(block.column + column, block.term), factors.b_term = b_.term_step;
    T* const c = c_ + (block.row + row) * ldc_ + block.column + column;
    tile_.multiply(static_cast<int>(rows), static_cast<int>(columns), block.terms, factors, alpha_,
                   block.term == 0 ? beta_ : T{1}, c, ldc_);
  }

  const gemm_tile::Tile<T>& tile_;
  const std::int64_t m_, n_, k_;
  const GemmFactor<T> a_, b_;
  const T alpha_, beta_;
  T* const c_;
  const std::int64_t ldc_;
  const AfterGemm<T>& after_;
  const std::int64_t terms_;
  std::int64_t columns_at_once_;
  const bool packs_a_;
  bool packs_b_;
  const T* ready_b_ = nullptr;
  std::int64_t rows_at_once_ = 0;
  T *packed_a_ = nullptr, *packed_b_ = nullptr;
};

}  // namespace headroom::packed
