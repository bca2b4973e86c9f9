// Random numbers by blocks of the generator, on vectors; then the elements they belong to.
#include <algorithm>

#include "ops/cpu/parallel.h"
#include "ops/dropout/cpu/philox_blocks.h"
#include "ops/dropout/dropout.h"

namespace headroom {
namespace dropout_cpu_blocks_cc {
namespace {

// The global elements [begin, end), a group of blocks at a time.
template <class T>
void drop(const DropoutProblem& p, std::uint64_t stream, std::int64_t begin, std::int64_t end, const T* x,
          T* y) {
  // A threshold of 2^32 would not fit: no rate below 1 has it but by rounding, and then all are dropped.
  const std::uint64_t threshold = p.threshold();
  const T scale = threshold > 0xFFFFFFFFu ? T{0} : static_cast<T>(1 / (1 - p.rate));
  const auto limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(threshold, 0xFFFFFFFFu));
  std::uint32_t bits[kPhiloxNumbers];
  while (begin < end) {
    const std::int64_t group = begin / kPhiloxNumbers, start = group * kPhiloxNumbers;
    const std::int64_t stop = std::min(end, start + kPhiloxNumbers);
    philox_numbers(p.seed, stream, static_cast<std::uint64_t>(group), bits);
    const std::uint32_t* from = bits + (begin - start);
    const T* in = x + (begin - p.first);
    T* out = y + (begin - p.first);
#pragma omp simd
    for (std::int64_t k = 0; k < stop - begin; ++k) {
      const T kept = in[k] * scale;
      out[k] = from[k] < limit ? T{0} : kept;
    }
    begin = stop;
  }
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = dropout_problem(problem)](const LaunchArgs& a) {
      const std::uint64_t stream = p.stream(*a.in<double>(1));
      parallel_for(p.n, kElementwiseGrain / 4, [&](std::int64_t begin, std::int64_t end, int) {
        drop(p, stream, p.first + begin, p.first + end, a.in<T>(0), a.out<T>(0));
      });
    };
  });
}

}  // namespace
}  // namespace dropout_cpu_blocks_cc

Kernel dropout_cpu_blocks() {
  using namespace dropout_cpu_blocks_cc;
  return {.name = "cpu:blocks", .prepare = prepare};
}

}  // namespace headroom
