// Backward: each part of dx has one owner, who adds to it in the order of the indices.
#include <algorithm>

#include "ops/cpu/strided_copy.h"
#include "ops/expect.h"
#include "ops/gather/indices.h"

namespace headroom {
namespace gather_cpu_owners_cc {
namespace {

struct Part {
  std::int64_t outer, outer_end, row, row_end, column, column_end;
};

// A part of dx by whoever owns it: all indices are looked at, those of other parts are passed over.
template <class T, class I>
void add_slices(const GatherSizes& g, const Part& part, const T* dy, const I* indices, T* dx) {
  const std::int64_t n = part.column_end - part.column;
  for (std::int64_t o = part.outer; o < part.outer_end; ++o) {
    T* to = dx + o * g.extent * g.inner + part.column;
    for (std::int64_t i = 0; i < g.count; ++i) {
      const std::int64_t row = row_of(g, indices[i]);
      if (row < part.row || row >= part.row_end) continue;
      const T* from = dy + (o * g.count + i) * g.inner + part.column;
      T* sum = to + row * g.inner;
#pragma omp simd
      for (std::int64_t c = 0; c < n; ++c) sum[c] += from[c];
    }
  }
}

// dx is cut among the threads where the cut costs least: between outer slices, else between columns, which
// are equally busy whatever the indices, else between rows.
Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = gather_sizes(p)](const LaunchArgs& a) {
        check_indices(g, a.in<I>(1));
        constexpr std::int64_t kColumns = 64;  // at least, for rows to be read in stretches
        const std::int64_t threads = team_limit(), work = g.count * g.inner;
        fill_parallel(g.outer * g.extent * g.inner, a.out<T>(0), T{0});
        auto add = [&](const Part& part) { add_slices(g, part, a.in<T>(0), a.in<I>(1), a.out<T>(0)); };
        if (g.outer >= threads)
          parallel_for(g.outer, kElementwiseGrain / work + 1, [&](std::int64_t begin, std::int64_t end, int) {
            add({begin, end, 0, g.extent, 0, g.inner});
          });
        else if (g.inner >= kColumns * threads)
          parallel_for(g.inner, std::max(kColumns, kElementwiseGrain * g.inner / (g.outer * work)),
                       [&](std::int64_t begin, std::int64_t end, int) {
                         add({0, g.outer, 0, g.extent, begin, end});
                       });
        else
          parallel_for(g.extent, kElementwiseGrain * g.extent / (g.outer * work) + 1,
                       [&](std::int64_t begin, std::int64_t end, int) {
                         add({0, g.outer, begin, end, 0, g.inner});
                       });
      };
    });
  });
}

}  // namespace
}  // namespace gather_cpu_owners_cc

Kernel gather_cpu_owners() {
  using namespace gather_cpu_owners_cc;
  return {.name = "cpu:owners", .prepare = prepare};
}

}  // namespace headroom
