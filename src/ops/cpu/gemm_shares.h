#pragma once

// How the threads of a product share its blocks. Part of packed_gemm.cc.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>

namespace headroom::packed {

inline std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }

// The length of equal pieces, up to `most` long and multiples of `multiple`.
inline std::int64_t even_pieces(std::int64_t whole, std::int64_t most, std::int64_t multiple) {
  return pieces(pieces(whole, pieces(whole, most)), multiple) * multiple;
}

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};
inline Range share(std::int64_t count, std::int64_t part, std::int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// The threads lie over the result as a grid.
struct Grid {
  int down = 1, across = 1;
  int size() const { return down * across; }
};

// The grid whose largest share is smallest; of nearly equal ones the one whose shares read the least of both
// factors. Extents in panels of so many rows and columns.
inline Grid grid_of(int threads, std::int64_t row_panels, std::int64_t column_panels, int rows, int columns) {
  constexpr double kNearly = 1.1;
  const auto each_grid = [&](auto&& look) {
    for (int across = 1; across <= threads; ++across) {
      const Grid grid{threads / across, across};
      const auto down = pieces(row_panels, grid.down), right = pieces(column_panels, across);
      look(grid, static_cast<double>(down * right), static_cast<double>(down * rows + right * columns));
    }
  };
  double smallest = INFINITY, least = INFINITY;
  each_grid([&](Grid, double tiles, double) { smallest = std::min(smallest, tiles); });
  Grid best;
  each_grid([&](Grid grid, double tiles, double lines) {
    if (tiles <= kNearly * smallest && lines < least) best = grid, least = lines;
  });
  return best;
}

// A product with few tiles and many terms has little work between two meetings of its threads. There, the
// terms are shared out as well: a task is one block of terms of one panel of columns and one group of rows.
struct TermSplit {
  std::int64_t row_groups = 0;  // 0: sums are not split
  std::int64_t blocks = 1;      // of terms, whose sums are held at a time
  explicit operator bool() const { return row_groups > 0; }
};

// `sums_bytes`: the sums of one block of terms.
inline TermSplit term_split(int threads, std::int64_t row_panels, std::int64_t column_panels,
                            std::int64_t term_blocks, std::int64_t sums_bytes) {
  constexpr std::int64_t kTiles = 16;       // for each thread and block: more make a meeting cheap
  constexpr std::int64_t kGroupPanels = 8;  // fewer do not pay for the panel of B that each group packs
  constexpr std::int64_t kSumsBytes = 16 << 20;
  constexpr double kIdle = 1.1;
  if (threads == 1 || row_panels * column_panels > kTiles * threads) return {};
  const std::int64_t blocks = even_pieces(term_blocks, std::max<std::int64_t>(1, kSumsBytes / sums_bytes), 1);
  if (blocks == 1) return {};
  for (std::int64_t groups = 1; groups <= std::max<std::int64_t>(1, row_panels / kGroupPanels); ++groups) {
    const std::int64_t tasks = groups * column_panels * blocks;
    if (static_cast<double>(pieces(tasks, threads) * threads) <= kIdle * static_cast<double>(tasks))
      return {groups, blocks};
  }
  return {};
}

// The tiles of one share as tasks: a few tiles of a row each. A group of columns serves all rows before the
// next one begins, because its part of B stays in the second-level cache. Groups are equally large: in a
// small one, panels of A would arrive too late.
class ShareTasks {
 public:
  static constexpr std::int64_t kTiles = 8;  // some 10 us with AVX-512: long beside the choice of a task

  ShareTasks(Range down, Range across, std::int64_t max_group)
      : down_(down),
        across_(across),
        group_(across.size() > 0 ? even_pieces(across.size(), max_group, 1) : 1),
        full_(across.size() / group_) {}

  std::int64_t count() const {
    return down_.size() * (full_ * chunks(group_) + chunks(across_.size() - full_ * group_));
  }

  // strip(row panel, first column panel, end of column panels) of a task.
  template <class Strip>
  void run(std::int64_t task, Strip&& strip) const {
    const std::int64_t of_group = down_.size() * chunks(group_), group = std::min(task / of_group, full_),
                       within = task - group * of_group, first = across_.begin + group * group_,
                       end = std::min(first + group_, across_.end), each = chunks(end - first),
                       begin = first + within % each * kTiles;
    strip(down_.begin + within / each, begin, std::min(begin + kTiles, end));
  }

 private:
  static std::int64_t chunks(std::int64_t panels) { return pieces(panels, kTiles); }

  Range down_, across_;
  std::int64_t group_, full_;
};

// A thread does the tasks of its own share in order, which keeps its parts of the factors in its caches, then
// what others have left: a core that another program holds up delays nobody.
class TaskQueues {
 public:
  // The memory is the thread's, which starts one product at a time: later products allocate nothing.
  explicit TaskQueues(Grid grid) : grid_(grid) {
    if (grid_.size() == 1) return;
    static thread_local std::unique_ptr<Next[]> kept;
    static thread_local std::size_t room = 0;
    const auto count = static_cast<std::size_t>(2 * grid_.size());
    if (room < count) kept = std::make_unique<Next[]>(count), room = count;
    next_ = kept.get();
    for (std::size_t i = 0; i < count; ++i) next_[i].task.store(0, std::memory_order_relaxed);
  }

  // Some of the strips on each thread, all of them on all threads. All threads meet between two rounds.
  template <class Strip>
  void run(int thread, std::int64_t round, std::int64_t row_panels, std::int64_t column_panels,
           std::int64_t group, Strip&& strip) const {
    const int shares = grid_.size();
    Next* const now = next_ + round % 2 * shares;
    if (shares > 1 && thread < shares) next_[(round + 1) % 2 * shares + thread].task = 0;
    for (int i = 0; i < shares; ++i) {
      const int whose = (thread + i) % shares;
      const ShareTasks tasks(share(row_panels, whose / grid_.across, grid_.down),
                             share(column_panels, whose % grid_.across, grid_.across), group);
      const std::int64_t count = tasks.count();
      if (shares == 1) {
        for (std::int64_t task = 0; task < count; ++task) tasks.run(task, strip);
        return;
      }
      std::atomic<std::int64_t>& next = now[whose].task;
      while (next.load(std::memory_order_relaxed) < count)
        if (const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed); task < count)
          tasks.run(task, strip);
    }
  }

 private:
  struct alignas(64) Next {
    std::atomic<std::int64_t> task = 0;
  };
  Grid grid_;
  Next* next_ = nullptr;  // two rounds of one for each share
};

}  // namespace headroom::packed
