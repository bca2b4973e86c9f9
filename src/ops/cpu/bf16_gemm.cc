#include "ops/cpu/bf16_gemm.h"

#include <algorithm>

#include "ops/cpu/gemm_blocks.h"
#include "ops/cpu/packed_memory.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace cpu_bf16_gemm_cc {
namespace {

using bf16::Bits;
using packed::even_pieces, packed::Grid, packed::grid_of, packed::kBlockColumns, packed::kBlockRows,
    packed::PackedMemory, packed::pieces, packed::Range, packed::share, packed::TaskQueues;

// A left factor of up to so many elements is packed as a whole, once for all columns.
constexpr std::int64_t kWholeA = 8 << 20;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return pieces(n, to) * to; }

// What a team works on at a time.
struct Block {
  std::int64_t row, rows, column, columns, term, terms, filled;
  Bits *a, *b;
};

class Product {
 public:
  Product(const bf16::Version& version, const Bf16Product& product, const AfterGemm<float>& after)
      : v_(version),
        p_(product),
        after_(after),
        terms_(even_pieces(p_.k, v_.block_terms, v_.step)),
        columns_at_once_(even_pieces(p_.n, kBlockColumns, v_.b.lines)) {}

  void run() {
    static thread_local PackedMemory of_a, of_b;
    const int threads = threads_for(team_limit());
    const Grid grid = grid_of(threads, panels(v_.a, p_.m), panels(v_.b, p_.n), v_.a.lines, v_.b.lines);
    rows_at_once_ = even_pieces(p_.m, kBlockRows * grid.down, v_.a.lines);
    whole_a_ = rows_at_once_ >= p_.m && p_.m * p_.k <= kWholeA;
    const int buffers = threads > 1 ? 2 : 1;
    a_size_ = v_.parts * terms_ * rounded_up(rows_at_once_, v_.a.lanes);
    b_size_ = v_.parts * terms_ * rounded_up(columns_at_once_, v_.b.lanes);
    a_ = of_a.at_least<Bits>(a_size_ * (whole_a_ ? pieces(p_.k, terms_) : buffers));
    b_ = of_b.at_least<Bits>(b_size_ * buffers);
    const TaskQueues queues(grid);
    TeamBarrier barrier(threads);
    if (threads == 1) return share_of(0, 1, queues, barrier);
    run_team(threads, [&](int thread) {
      const Span span(kWorkerSpan, SpanKind::worker);
      share_of(thread, threads, queues, barrier);
    });
  }

 private:
  static std::int64_t panels(const bf16::PanelForm& form, std::int64_t lines) {
    return pieces(lines, form.lines);
  }

  // Packing takes about a nanosecond for an element.
  int threads_for(int limit) const {
    const auto m = static_cast<double>(rounded_up(p_.m, v_.a.lanes)),
               n = static_cast<double>(rounded_up(p_.n, v_.b.lanes)),
               k = static_cast<double>(rounded_up(p_.k, v_.step));
    const double seconds = 2 * m * n * k / v_.flops + (m + n) * k * 1e-9;
    const std::int64_t blocks = pieces(p_.k, terms_) * pieces(p_.n, columns_at_once_);
    return team_costs().threads_for(seconds, limit, static_cast<int>(std::min<std::int64_t>(blocks, 1000)));
  }

  void share_of(int thread, int threads, const TaskQueues& queues, TeamBarrier& barrier) const {
    const std::int64_t row_blocks = pieces(p_.m, rows_at_once_), term_blocks = pieces(p_.k, terms_),
                       column_blocks = pieces(p_.n, columns_at_once_);
    const std::int64_t group = std::max<std::int64_t>(
        1, packed::group_bytes() / (v_.parts * terms_ * v_.b.lines * std::int64_t{sizeof(Bits)}));
    for (std::int64_t round = 0; round < row_blocks * term_blocks * column_blocks; ++round) {
      const std::int64_t of_b = round / row_blocks, row = round % row_blocks, term = of_b % term_blocks;
      Block block = block_at(row, of_b / term_blocks, term);
      block.a = a_ + (whole_a_ ? term : threads > 1 ? round % 2 : 0) * a_size_;
      block.b = b_ + (threads > 1 ? of_b % 2 : 0) * b_size_;
      if (!whole_a_ || round < term_blocks)
        pack(v_.a, p_.a, block, block.row, block.rows, share(panels(v_.a, block.rows), thread, threads),
             block.a);
      if (row == 0)
        pack(v_.b, p_.b, block, block.column, block.columns,
             share(panels(v_.b, block.columns), thread, threads), block.b);
      if (threads > 1) barrier.wait();
      queues.run(thread, round, panels(v_.a, block.rows), panels(v_.b, block.columns), group,
                 [&](std::int64_t panel, std::int64_t first, std::int64_t end) {
                   multiply_strip(block, panel * v_.a.lines, first * v_.b.lines,
                                  std::min(end * v_.b.lines, block.columns));
                 });
    }
  }

  Block block_at(std::int64_t row, std::int64_t column, std::int64_t term) const {
    Block block{.row = row * rows_at_once_,
                .rows = 0,
                .column = column * columns_at_once_,
                .columns = 0,
                .term = term * terms_,
                .terms = 0,
                .filled = 0,
                .a = nullptr,
                .b = nullptr};
    block.rows = std::min(rows_at_once_, p_.m - block.row);
    block.columns = std::min(columns_at_once_, p_.n - block.column);
    block.terms = std::min(terms_, p_.k - block.term);
    block.filled = rounded_up(block.terms, v_.step);
    return block;
  }

  // Some panels of `lines` lines from `first` on. Where terms lie apart, all panels get a few of them at a
  // time: these are few pages.
  void pack(const bf16::PanelForm& form, const Bf16Factor& factor, const Block& block, std::int64_t first,
            std::int64_t lines, Range range, Bits* to) const {
    constexpr std::int64_t kRunTerms = 32;
    const bool runs = factor.rows == nullptr && factor.line_step == 1;
    const std::int64_t at_once = runs ? kRunTerms : block.filled;
    for (std::int64_t t = 0; t < block.filled; t += at_once)
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const std::int64_t line = i * form.lines, own = std::min<std::int64_t>(form.lines, lines - line),
                           width = form.width(own);
        Bits* const panel = to + v_.parts * (line * block.filled + t * width);
        if (factor.rows != nullptr) {
          pack_read(form, factor, first + line, own, width, block, panel);
          continue;
        }
        const float* from =
            factor.data + (first + line) * factor.line_step + (block.term + t) * factor.term_step;
        form.pack(from, factor.line_step, factor.term_step, own, std::min(at_once, block.terms - t), width,
                  std::min(at_once, block.filled - t), panel);
      }
  }

  void pack_read(const bf16::PanelForm& form, const Bf16Factor& factor, std::int64_t line, std::int64_t lines,
                 std::int64_t width, const Block& block, Bits* panel) const {
    constexpr std::int64_t kTerms = ReadRows::kMaxRead, kMaxLines = 32;
    alignas(64) float piece[kMaxLines * kTerms];
    for (std::int64_t t = 0; t < block.filled; t += kTerms) {
      const std::int64_t terms = std::min(kTerms, block.terms - t),
                         filled = std::min(kTerms, block.filled - t);
      if (factor.lines_are_rows) {
        factor.rows->read(line, lines, block.term + t, terms, piece, kTerms);
        form.pack(piece, kTerms, 1, lines, terms, width, filled, panel + v_.parts * t * width);
      } else {
        factor.rows->read(block.term + t, terms, line, lines, piece, kMaxLines);
        form.pack(piece, 1, kMaxLines, lines, terms, width, filled, panel + v_.parts * t * width);
      }
    }
  }

  // Tiles side by side of some rows, and what happens to finished ones. The rows of A of a run of terms stay
  // in the first cache, and the sums of all tiles in the second.
  void multiply_strip(const Block& block, std::int64_t row, std::int64_t column, std::int64_t end) const {
    alignas(64) float kept[packed::ShareTasks::kTiles * bf16::kTileSums];
    const std::int64_t rows = std::min<std::int64_t>(v_.a.lines, block.rows - row);
    if (v_.begin != nullptr) v_.begin();
    for (std::int64_t t = 0; t < block.filled; t += v_.run_terms) {
      bf16::RunOfTerms run{.kept = kept, .first = t == 0, .last = t + v_.run_terms >= block.filled};
      for (std::int64_t j = column; j < end; j += v_.b.lines, run.kept += bf16::kTileSums)
        multiply_tile(block, {row, row + rows}, {j, std::min(j + v_.b.lines, end)},
                      {t, std::min(t + v_.run_terms, block.filled)}, run);
    }
    if (v_.end != nullptr) v_.end();
    if (!after_ || block.term + block.terms < p_.k) return;
    each_plane(block.column + column, end - column, [&](std::int64_t from, std::int64_t count, float* c) {
      for (std::int64_t i = block.row + row; i < block.row + row + rows; ++i)
        after_(i, from, count, c + i * p_.to.ldc);
    });
  }

  // body(first column, columns, where their row 0 lies) for pieces of columns that lie in one matrix.
  template <class Body>
  void each_plane(std::int64_t column, std::int64_t columns, Body&& body) const {
    const Bf16Result& to = p_.to;
    if (to.plane == 0) return body(column, columns, to.c + column);
    for (const std::int64_t end = column + columns; column < end;) {
      const std::int64_t plane = column / to.plane, within = column % to.plane,
                         count = std::min(to.plane - within, end - column);
      body(column, count, to.c + plane * to.plane_step + within);
      column += count;
    }
  }

  void multiply_tile(const Block& block, Range rows, Range columns, Range terms,
                     const bf16::RunOfTerms& run) const {
    const Bits* a = block.a + v_.parts * (rows.begin * block.filled + terms.begin * v_.a.width(rows.size()));
    const Bits* b =
        block.b + v_.parts * (columns.begin * block.filled + terms.begin * v_.b.width(columns.size()));
    const float beta = block.term == 0 ? p_.beta : 1;
    const std::int64_t first = block.column + columns.begin, ldc = p_.to.ldc,
                       top = (block.row + rows.begin) * ldc, plane = p_.to.plane;
    const auto multiply = [&](float by, float* c, std::int64_t step) {
      v_.multiply(static_cast<int>(rows.size()), static_cast<int>(columns.size()), terms.size(), a, b, run,
                  p_.alpha, by, c, step);
    };
    if (plane == 0) return multiply(beta, p_.to.c + top + first, ldc);
    if (first % plane + columns.size() <= plane)
      return multiply(beta, p_.to.c + first / plane * p_.to.plane_step + top + first % plane, ldc);
    constexpr std::int64_t kSide = 32;
    alignas(64) float sums[kSide * kSide];
    multiply(0, sums, kSide);
    if (!run.last) return;
    each_plane(first, columns.size(), [&](std::int64_t from, std::int64_t count, float* c) {
      const float* own = sums + (from - first);
      c += top;
      for (std::int64_t i = 0; i < rows.size(); ++i, own += kSide, c += ldc)
        for (std::int64_t j = 0; j < count; ++j) c[j] = beta == 0 ? own[j] : own[j] + beta * c[j];
    });
  }

  const bf16::Version& v_;
  const Bf16Product& p_;
  const AfterGemm<float>& after_;
  const std::int64_t terms_, columns_at_once_;
  std::int64_t rows_at_once_ = 0, a_size_ = 0, b_size_ = 0;
  bool whole_a_ = false;
  Bits *a_ = nullptr, *b_ = nullptr;
};

}  // namespace
}  // namespace cpu_bf16_gemm_cc

void bf16_gemm(const bf16::Version& version, const Bf16Product& p, const AfterGemm<float>& after) {
  if (p.m <= 0 || p.n <= 0) return;
  if (p.k > 0) return cpu_bf16_gemm_cc::Product(version, p, after).run();
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      float* c = p.to.c + i * p.to.ldc + j;
      if (p.to.plane > 0) c += j / p.to.plane * (p.to.plane_step - p.to.plane);
      *c = p.beta == 0 ? 0 : p.beta * *c;
      if (after) after(i, j, 1, c);
    }
}

void bf16_gemm(const bf16::Version& version, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n,
               std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b,
               std::int64_t ldb, float beta, float* c, std::int64_t ldc, const AfterGemm<float>& after) {
  Bf16Product p{
      .m = m, .n = n, .k = k, .a = {}, .b = {}, .to = {.c = c, .ldc = ldc}, .alpha = alpha, .beta = beta};
  p.a.data = a, p.b.data = b;
  (trans_a ? p.a.term_step : p.a.line_step) = lda;
  (trans_b ? p.b.line_step : p.b.term_step) = ldb;
  bf16_gemm(version, p, after);
}

}  // namespace headroom
