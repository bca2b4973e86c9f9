// The loss is summed in an order that depends on the rows alone: groups of sixteen, then the groups one after
// another, in double. The same bits come out whatever the number of threads.
#include <algorithm>
#include <cmath>

#include "ops/count_correct/count_correct.h"
#include "ops/cpu/parallel.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/expect.h"
#include "ops/softmax/cpu/exp_rows.h"

namespace headroom {
namespace cross_entropy_cpu_blocks_cc {
namespace {

// Sums of exponentials lie between 1 and C, so sixteen of them multiply without overflow for C up to 2^60,
// and one logarithm serves all sixteen.
constexpr std::int64_t kGroup = 16;

std::int64_t groups(const CrossEntropyProblem& p) { return (p.rows + kGroup - 1) / kGroup; }

// Loss of up to sixteen rows from their maxima and sums; leaves probabilities where the exponentials were.
template <class T, class Label>
double finish_group(const CrossEntropyProblem& p, std::int64_t rows, const T* x, const Label* labels,
                    const T* maxima, const T* sums, T* y) {
  double product = 1, picked = 0;
  for (std::int64_t r = 0; r < rows; ++r, x += p.classes, y += p.classes) {
    const T scale = T{1} / sums[r];
#pragma omp simd
    for (std::int64_t c = 0; c < p.classes; ++c) y[c] *= scale;
    const std::int64_t label = labels[r];
    const bool known = label >= 0 && label < p.classes;
    product *= double{sums[r]};
    picked += known ? double{x[label]} - double{maxima[r]} : std::nan("");
  }
  return std::log(product) - picked;
}

template <class T, class Label>
void forward(const CrossEntropyProblem& p, const LaunchArgs& a) {
  auto* losses = static_cast<double*>(a.workspace);
  const std::int64_t n = p.classes;
  parallel_for(groups(p), 2048 / (kGroup * n) + 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t first = g * kGroup, rows = std::min(kGroup, p.rows - first);
      const T* x = a.in<T>(0) + first * n;
      T* y = a.out<T>(1) + first * n;
      T maxima[kGroup], sums[kGroup];
      exp_rows(rows, n, x, y, maxima, sums);
      losses[g] = finish_group(p, rows, x, a.in<Label>(1) + first, maxima, sums, y);
    }
  });
  double total = 0;
  for (std::int64_t g = 0; g < groups(p); ++g) total += losses[g];
  *a.out<T>(0) = static_cast<T>(total / p.batch);
}

template <class T, class Label>
void backward(const CrossEntropyProblem& p, const LaunchArgs& a) {
  const T scale = *a.in<T>(0) / static_cast<T>(p.batch);
  const std::int64_t n = p.classes;
  parallel_for(p.rows, kElementwiseGrain / n + 1, [&](std::int64_t begin, std::int64_t end, int) {
    const T* y = a.in<T>(1);
    T* dx = a.out<T>(0);
#pragma omp simd
    for (std::int64_t i = begin * n; i < end * n; ++i) dx[i] = scale * y[i];
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t label = a.in<Label>(2)[r];
      if (label >= 0 && label < n)
        dx[r * n + label] = scale * (y[r * n + label] - T{1});
      else
        std::fill_n(dx + r * n, n, static_cast<T>(std::nan("")));
    }
  });
}

}  // namespace
}  // namespace cross_entropy_cpu_blocks_cc

std::size_t cross_entropy_workspace(const Problem& problem, const Target&) {
  using namespace cross_entropy_cpu_blocks_cc;
  return static_cast<std::size_t>(groups(cross_entropy_problem(problem))) * sizeof(double);
}

Launcher cross_entropy_blocks(const Problem& problem, const LaunchContext& context) {
  using namespace cross_entropy_cpu_blocks_cc;
  const CrossEntropyProblem p = cross_entropy_problem(problem);
  Launcher loss = dispatch_float(problem.inputs[0].dtype, [&]<class T>() {
    return dispatch_labels(problem.inputs[1].dtype, [&]<class L>() -> Launcher {
      return [p](const LaunchArgs& a) { forward<T, L>(p, a); };
    });
  });
  return then_count(std::move(loss), problem, context, count_correct_by_label);
}

Launcher cross_entropy_grad_vector(const Problem& problem, const LaunchContext&) {
  using namespace cross_entropy_cpu_blocks_cc;
  const CrossEntropyProblem p = cross_entropy_problem(problem);
  return dispatch_float(problem.inputs[0].dtype, [&]<class T>() {
    return dispatch_labels(problem.inputs[2].dtype, [&]<class L>() -> Launcher {
      return [p](const LaunchArgs& a) { backward<T, L>(p, a); };
    });
  });
}

}  // namespace headroom
