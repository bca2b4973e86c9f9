// The definition: every window visits each of its elements.
#include <algorithm>

#include "ops/adaptive_pool/adaptive_pool.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace adaptive_pool_reference_cc {
namespace {

// Calls body(plane offset in x, output number, i, j) for every window.
template <class Body>
void each_window(const AdaptiveProblem& p, Body&& body) {
  for (std::int64_t plane = 0; plane < p.planes; ++plane)
    for (std::int64_t i = 0; i < p.rows.output; ++i)
      for (std::int64_t j = 0; j < p.columns.output; ++j)
        body(plane * p.input_plane(), plane * p.output_plane() + i * p.columns.output + j, i, j);
}

template <class Visit>
std::int64_t each_element(const AdaptiveProblem& p, std::int64_t i, std::int64_t j, Visit&& visit) {
  std::int64_t count = 0;
  for (std::int64_t h = p.rows.begin(i); h < p.rows.end(i); ++h)
    for (std::int64_t w = p.columns.begin(j); w < p.columns.end(j); ++w, ++count)
      visit(h * p.columns.input + w);
  return count;
}

template <class T>
std::int64_t argmax(const AdaptiveProblem& p, const T* x, std::int64_t i, std::int64_t j) {
  std::int64_t best = -1;
  each_element(p, i, j, [&](std::int64_t at) {
    if (best < 0 || exceeds(x[at], x[best])) best = at;
  });
  return best;
}

}  // namespace
}  // namespace adaptive_pool_reference_cc

Launcher adaptive_reference(const Problem& problem, const LaunchContext&) {
  using namespace adaptive_pool_reference_cc;
  const bool max = problem.op.find("max") != std::string::npos, grad = problem.op.ends_with("_grad");
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = adaptive_problem(problem), max, grad](const LaunchArgs& a) {
      const T *in = a.in<T>(0), *x = max && grad ? a.in<T>(1) : in;
      T* out = a.out<T>(0);
      if (grad) std::fill_n(out, p.planes * p.input_plane(), T{0});
      each_window(p, [&](std::int64_t plane, std::int64_t y, std::int64_t i, std::int64_t j) {
        if (max) {
          const std::int64_t best = plane + argmax(p, x + plane, i, j);
          if (grad)
            out[best] += in[y];
          else
            out[y] = x[best];
          return;
        }
        long double sum = 0;  // wider than any kernel's
        const std::int64_t count =
            each_element(p, i, j, [&](std::int64_t at) { sum += grad ? T{0} : x[plane + at]; });
        if (!grad) out[y] = static_cast<T>(sum / static_cast<long double>(count));
        if (grad)
          each_element(p, i, j, [&](std::int64_t at) { out[plane + at] += in[y] / static_cast<T>(count); });
      });
    };
  });
}

}  // namespace headroom
