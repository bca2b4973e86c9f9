// Row by row along the last padded axis: what lies on the input moves in one stretch, the margins by a table.
#include <algorithm>
#include <array>
#include <cstring>

#include "ops/cpu/parallel.h"
#include "ops/pad/pad.h"

namespace headroom {
namespace pad_cpu_rows_cc {
namespace {

// The input row that an output row shows; -1 where the row is constant.
std::int64_t source_row(const PadProblem& p, std::int64_t row) {
  std::int64_t from = 0, step = 1;
  for (std::size_t a = p.axes.size() - 1; a-- > 0;) {
    const PadAxis& axis = p.axes[a];
    const std::int64_t source = axis.source[static_cast<std::size_t>(row % axis.output)];
    if (source < 0) return -1;
    from += source * step;
    row /= axis.output;
    step *= axis.input;
  }
  return from;
}

template <class T>
void pad_row(const PadProblem& p, const T* x, T value, T* y) {
  const PadAxis& axis = p.axes.back();
  auto margin = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      const std::int64_t source = axis.source[static_cast<std::size_t>(o)];
      if (source < 0)
        std::fill_n(y + o * p.run, p.run, value);
      else
        std::copy_n(x + source * p.run, p.run, y + o * p.run);
    }
  };
  margin(0, axis.inside);
  const std::int64_t n = (axis.outside - axis.inside) * p.run;
  if (n > 0)
    std::memcpy(y + axis.inside * p.run, x + (axis.inside - axis.before) * p.run,
                static_cast<std::size_t>(n) * sizeof(T));
  margin(axis.outside, axis.output);
}

// Adds dy's row to dx's: the stretch inside first, then the margins from left to right.
template <class T>
void add_row(const PadProblem& p, const T* dy, T* dx) {
  const PadAxis& axis = p.axes.back();
  auto add = [&](std::int64_t n, const T* from, T* to) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
  };
  add((axis.outside - axis.inside) * p.run, dy + axis.inside * p.run,
      dx + (axis.inside - axis.before) * p.run);
  auto margin = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o)
      add(p.run, dy + o * p.run, dx + axis.source[static_cast<std::size_t>(o)] * p.run);
  };
  margin(0, axis.inside);
  margin(axis.outside, axis.output);
}

// Calls body(output row) for every copy of an input row, in a fixed order.
template <class Body>
void each_copy(const PadProblem& p, std::int64_t row, Body&& body) {
  std::array<const std::vector<std::int64_t>*, Shape::kMaxRank> copies{};
  std::array<std::size_t, Shape::kMaxRank> at{};
  const std::size_t outer = p.axes.size() - 1;
  for (std::size_t a = outer; a-- > 0; row /= p.axes[a].input) {
    copies[a] = &p.axes[a].copies[static_cast<std::size_t>(row % p.axes[a].input)];
    if (copies[a]->empty()) return;  // cropped
  }
  for (;;) {
    std::int64_t out = 0;
    for (std::size_t a = 0; a < outer; ++a) out = out * p.axes[a].output + (*copies[a])[at[a]];
    body(out);
    std::size_t a = outer;
    while (a > 0 && ++at[a - 1] == copies[a - 1]->size()) at[--a] = 0;
    if (a == 0) return;
  }
}

}  // namespace
}  // namespace pad_cpu_rows_cc

Launcher pad_rows(const Problem& problem, const LaunchContext&) {
  using namespace pad_cpu_rows_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = pad_problem(problem)](const LaunchArgs& args) {
      const std::int64_t from = p.axes.back().input * p.run, to = p.axes.back().output * p.run;
      const auto value = static_cast<T>(p.value);
      parallel_for(p.rows, kElementwiseGrain / to + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t r = begin; r < end; ++r) {
          const std::int64_t source = source_row(p, r);
          if (source < 0)
            std::fill_n(args.out<T>(0) + r * to, to, value);
          else
            pad_row(p, args.in<T>(0) + source * from, value, args.out<T>(0) + r * to);
        }
      });
    };
  });
}

Launcher pad_grad_rows(const Problem& problem, const LaunchContext&) {
  using namespace pad_cpu_rows_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = pad_problem(problem)](const LaunchArgs& args) {
      const std::int64_t to = p.axes.back().input * p.run, from = p.axes.back().output * p.run;
      parallel_for(p.rows, kElementwiseGrain / to + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t r = begin; r < end; ++r) {
          T* dx = args.out<T>(0) + r * to;
          std::fill_n(dx, to, T{0});
          each_copy(p, r, [&](std::int64_t row) { add_row(p, args.in<T>(0) + row * from, dx); });
        }
      });
    };
  });
}

}  // namespace headroom
