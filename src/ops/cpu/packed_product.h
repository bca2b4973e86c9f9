#pragma once

// One product in blocks: what a team of threads packs and multiplies. Part of packed_gemm.cc.

#include <algorithm>
#include <utility>

#include "ops/cpu/gemm_blocks.h"
#include "ops/cpu/gemm_pack.h"
#include "ops/cpu/packed_gemm.h"
#include "ops/cpu/packed_memory.h"
#include "ops/cpu/parallel.h"

namespace headroom::packed {

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
    const int threads = product_threads(tile_, {m_, n_, k_}, team_limit());
    // Sums that are scaled round in another way when they are split.
    if (ready_b_ == nullptr && alpha_ == T{1})
      if (const TermSplit split = term_split(threads, rows_of(m_), columns_of(n_), pieces(k_, terms_),
                                             m_ * sums_pitch() * std::int64_t{sizeof(T)}))
        return run_split(threads, split);
    const Grid grid = grid_of(threads, rows_of(m_), columns_of(n_), tile_.rows, tile_.columns);
    rows_at_once_ = even_pieces(m_, kBlockRows * grid.down, tile_.rows);
    // Few rows soon want the next block of B: this one is still where it was packed.
    if (ready_b_ == nullptr && rows_of(m_) <= kFewPanels)
      columns_at_once_ = even_pieces(n_, threads * group_panels() * tile_.columns, tile_.columns);
    // Threads pack a block while others still read the one before.
    const int buffers = threads > 1 ? 2 : 1;
    if (packs_a_) packed_a_ = memory().a.template at_least<T>(buffers * terms_ * rows_at_once_);
    if (ready_b_ == nullptr) packed_b_ = memory().b.template at_least<T>(buffers * terms_ * columns_at_once_);
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
  struct Memory {
    PackedMemory a, b, sums;
  };
  static Memory& memory() {
    static thread_local Memory of_thread;
    return of_thread;
  }

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
            .b = packed_b_,
            .c = c_ + row * ldc_ + column,
            .ldc = ldc_,
            .beta = term == 0 ? beta_ : T{1}};
  }

  // Each task packs its own panel of B and multiplies one block of terms. The sums of the first block go to
  // C, the others to places of their own, and are added to C in the order of the blocks.
  void run_split(int threads, const TermSplit& split) {
    rows_at_once_ = pieces(rows_of(m_), split.row_groups) * tile_.rows;
    columns_at_once_ = tile_.columns;
    if (packs_a_) packed_a_ = memory().a.template at_least<T>(threads * terms_ * rows_at_once_);
    packed_b_ = memory().b.template at_least<T>(threads * terms_ * columns_at_once_);
    T* const sums = memory().sums.template at_least<T>(split.blocks * m_ * sums_pitch());
    const TaskQueues queues({threads, 1});
    TeamBarrier barrier(threads);
    run_team(threads, [&](int thread) {
      const Span span(kWorkerSpan, SpanKind::worker);
      const std::int64_t blocks = pieces(k_, terms_);
      for (std::int64_t first = 0, round = 0; first < blocks; first += split.blocks, ++round) {
        const std::int64_t count = std::min(split.blocks, blocks - first);
        if (round > 0) barrier.wait();
        multiply_blocks(thread, queues, round, first, count, sums);
        barrier.wait();
        add_blocks(share(m_ * pieces(n_, kAddedColumns), thread, threads), first, count, sums);
      }
    });
  }

  std::int64_t sums_pitch() const { return pieces(n_, tile_.lanes) * tile_.lanes; }

  // Tasks side by side share a panel of B, then a block of A.
  void multiply_blocks(int thread, const TaskQueues& queues, std::int64_t round, std::int64_t first,
                       std::int64_t count, T* sums) const {
    const std::int64_t groups = pieces(m_, rows_at_once_), of_block = groups * columns_of(n_);
    std::int64_t has_a = -1, has_b = -1;
    const auto is_new = [](std::int64_t wanted, std::int64_t& has) {
      return std::exchange(has, wanted) != wanted;
    };
    queues.run(thread, round, count * of_block, 1, 1, [&](std::int64_t task, std::int64_t, std::int64_t) {
      const std::int64_t term = first + task / of_block, panel = task / groups, row = task % groups;
      Block<T> block = block_at(row * rows_at_once_, panel % columns_of(n_) * tile_.columns, term * terms_);
      block.a += packs_a_ ? thread * terms_ * rows_at_once_ : 0;
      block.b += thread * terms_ * tile_.columns;
      if (term > 0) {
        block.c = sums + ((term - first) * m_ + block.row) * sums_pitch() + block.column;
        block.ldc = sums_pitch(), block.beta = 0;
      }
      if (packs_a_ && is_new(term * groups + row, has_a)) pack_a(block, {0, rows_of(block.rows)});
      if (is_new(panel, has_b)) pack_b(block, {0, 1});
      for (std::int64_t i = 0; i < block.rows; i += tile_.rows) multiply_tile(block, i, 0, 0);
    });
  }

  void add_blocks(Range strips, std::int64_t first, std::int64_t count, const T* sums) const {
    const std::int64_t across = pieces(n_, kAddedColumns);
    for (std::int64_t i = strips.begin; i < strips.end; ++i) {
      const std::int64_t row = i / across, column = i % across * kAddedColumns,
                         columns = std::min(kAddedColumns, n_ - column);
      T* const c = c_ + row * ldc_ + column;
      for (std::int64_t block = first == 0 ? 1 : 0; block < count; ++block) {
        const T* const from = sums + (block * m_ + row) * sums_pitch() + column;
        for (std::int64_t j = 0; j < columns; ++j) c[j] += from[j];
      }
      if (after_ && first + count == pieces(k_, terms_)) after_(row, column, columns, c);
    }
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
    tile_.multiply(static_cast<int>(rows), static_cast<int>(columns), block.terms, factors, alpha_,
                   block.beta, block.c + row * block.ldc + column, block.ldc);
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
