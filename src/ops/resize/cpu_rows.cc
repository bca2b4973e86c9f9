// Row by row. Forwards, an input row is stretched to the output's width once and serves all output rows that
// read it; backwards, the rows of dy are added up first, and the sum is then gathered to the input's width.
#include <algorithm>
#include <cstring>

#include "ops/cpu/parallel.h"
#include "ops/resize/resize.h"

namespace headroom {
namespace resize_cpu_rows_cc {
namespace {

// The axis in the element's type and in indices of 32 bits, of which twice as many go through the cache.
template <class T>
struct Columns {
  std::vector<std::int32_t> low, high;
  std::vector<T> weight;
  std::int64_t input;
  bool nearest, doubles;  // doubles: every pixel twice

  Columns(const ResizeAxis& axis, bool is_nearest) : input(axis.input), nearest(is_nearest) {
    doubles = is_nearest && axis.output == 2 * axis.input;
    for (std::size_t o = 0; o < axis.low.size(); ++o) {
      low.push_back(static_cast<std::int32_t>(axis.low[o]));
      high.push_back(static_cast<std::int32_t>(axis.high[o]));
      weight.push_back(static_cast<T>(axis.weight[o]));
      doubles &= axis.low[o] == static_cast<std::int64_t>(o / 2);
    }
  }
};

template <class T>
void stretch(const Columns<T>& c, const T* x, T* y) {
  const auto n = static_cast<std::int64_t>(c.low.size());
  const std::int32_t *low = c.low.data(), *high = c.high.data();
  const T* weight = c.weight.data();
  if (c.doubles) {
#pragma omp simd
    for (std::int64_t j = 0; j < c.input; ++j) y[2 * j] = y[2 * j + 1] = x[j];
  } else if (c.nearest) {
    for (std::int64_t j = 0; j < n; ++j) y[j] = x[low[j]];
  } else {
    for (std::int64_t j = 0; j < n; ++j) {
      const T left = x[low[j]], right = x[high[j]];
      y[j] = weight[j] == 0 ? left : left * (T{1} - weight[j]) + right * weight[j];
    }
  }
}

// The two stretched rows used last, by the number of their input row.
template <class T>
class StretchedRows {
 public:
  StretchedRows(const Columns<T>& columns, T* scratch)
      : columns_(columns), rows_{scratch, scratch + columns.low.size()} {}
  const T* row(const T* x, std::int64_t number, std::int64_t keep) {
    for (int k : {0, 1})
      if (held_[k] == number) return rows_[k];
    const int k = held_[0] == keep ? 1 : 0;
    held_[k] = number;
    stretch(columns_, x + number * columns_.input, rows_[k]);
    return rows_[k];
  }

 private:
  const Columns<T>& columns_;
  T* rows_[2];
  std::int64_t held_[2] = {-1, -1};
};

template <class T>
void bilinear(const ResizeProblem& p, const Columns<T>& columns, const T* x, T* scratch, std::int64_t begin,
              std::int64_t end, T* y) {
  const std::int64_t width = p.columns.output;
  StretchedRows<T> rows(columns, scratch);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t plane = r / p.rows.output * p.rows.input;
    const auto i = static_cast<std::size_t>(r % p.rows.output);
    const std::int64_t low = plane + p.rows.low[i], high = plane + p.rows.high[i];
    const auto weight = static_cast<T>(p.rows.weight[i]);
    const T* above = rows.row(x, low, high);
    T* out = y + r * width;
    if (weight == 0) {
      std::memcpy(out, above, static_cast<std::size_t>(width) * sizeof(T));
      continue;
    }
    const T* below = rows.row(x, high, low);
    const T rest = T{1} - weight;
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) out[j] = above[j] * rest + below[j] * weight;
  }
}

template <class T>
void nearest(const ResizeProblem& p, const Columns<T>& columns, const T* x, std::int64_t begin,
             std::int64_t end, T* y) {
  const std::int64_t width = p.columns.output;
  std::int64_t before = -1;
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t row =
        r / p.rows.output * p.rows.input + p.rows.low[static_cast<std::size_t>(r % p.rows.output)];
    if (row == before)
      std::memcpy(y + r * width, y + (r - 1) * width, static_cast<std::size_t>(width) * sizeof(T));
    else
      stretch(columns, x + row * p.columns.input, y + r * width);
    before = row;
  }
}

// dx's rows [begin, end); `sum` holds one row of dy.
template <class T>
void gather_rows(const ResizeProblem& p, const ResizeShares& down, const ResizeShares& across,
                 const std::vector<T>& weights, const T* dy, T* sum, std::int64_t begin, std::int64_t end,
                 T* dx) {
  const std::int64_t width = p.columns.output;
  for (std::int64_t r = begin; r < end; ++r) {
    const auto& range = down.ranges[static_cast<std::size_t>(r % p.rows.input)];
    const T* from = dy + (r / p.rows.input * p.rows.output + range.begin) * width;
    std::fill_n(sum, width, T{0});
    for (std::int64_t k = 0; k < range.count; ++k, from += width) {
      const auto weight = static_cast<T>(down.weights[static_cast<std::size_t>(range.first + k)]);
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) sum[j] += weight * from[j];
    }
    for (std::size_t j = 0; j < across.ranges.size(); ++j) {
      const auto& columns = across.ranges[j];
      T total = 0;
      for (std::int64_t k = 0; k < columns.count; ++k)
        total += weights[static_cast<std::size_t>(columns.first + k)] * sum[columns.begin + k];
      dx[r * p.columns.input + static_cast<std::int64_t>(j)] = total;
    }
  }
}

std::size_t rows_for_each_thread(const Problem& p, const Target& target, std::int64_t width, int rows) {
  return static_cast<std::size_t>(width * rows * target.device.threads) * size_of(p.outputs[0].dtype);
}

}  // namespace
}  // namespace resize_cpu_rows_cc

std::size_t resize_rows_workspace(const Problem& problem, const Target& target) {
  using namespace resize_cpu_rows_cc;
  return rows_for_each_thread(problem, target, problem.outputs[0].shape[3], 2);
}

std::size_t resize_grad_rows_workspace(const Problem& problem, const Target& target) {
  using namespace resize_cpu_rows_cc;
  return rows_for_each_thread(problem, target, problem.inputs[0].shape[3], 1);
}

Launcher resize_rows(const Problem& problem, const LaunchContext&) {
  using namespace resize_cpu_rows_cc;
  const ResizeProblem p = resize_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, columns = Columns<T>(p.columns, p.nearest)](const LaunchArgs& a) {
      const std::int64_t width = p.columns.output;
      parallel_for(p.planes * p.rows.output, kElementwiseGrain / width + 1,
                   [&](std::int64_t begin, std::int64_t end, int thread) {
                     T* scratch = static_cast<T*>(a.workspace) + thread * 2 * width;
                     if (p.nearest)
                       nearest(p, columns, a.in<T>(0), begin, end, a.out<T>(0));
                     else
                       bilinear(p, columns, a.in<T>(0), scratch, begin, end, a.out<T>(0));
                   });
    };
  });
}

Launcher resize_grad_rows(const Problem& problem, const LaunchContext&) {
  using namespace resize_cpu_rows_cc;
  const ResizeProblem p = resize_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const ResizeShares down = shares_of(p.rows), across = shares_of(p.columns);
    const std::vector<T> weights(across.weights.begin(), across.weights.end());
    return [p, down, across, weights](const LaunchArgs& a) {
      const std::int64_t width = p.columns.output;
      const std::int64_t work = std::max(width * p.rows.output / p.rows.input, p.columns.input);
      parallel_for(p.planes * p.rows.input, kElementwiseGrain / (work + 1) + 1,
                   [&](std::int64_t begin, std::int64_t end, int thread) {
                     T* sum = static_cast<T*>(a.workspace) + thread * width;
                     gather_rows(p, down, across, weights, a.in<T>(0), sum, begin, end, a.out<T>(0));
                   });
    };
  });
}

}  // namespace headroom
