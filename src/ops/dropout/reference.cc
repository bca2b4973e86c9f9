#include "base/random.h"
#include "ops/dropout/dropout.h"

namespace headroom {
namespace dropout_reference_cc {
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = dropout_problem(problem)](const LaunchArgs& a) {
      const Philox random(p.seed, p.stream(*a.in<double>(1)));
      const T scale = static_cast<T>(1 / (1 - p.rate));
      for (std::int64_t i = 0; i < p.n; ++i) {
        const bool dropped = random.bits(static_cast<std::uint64_t>(p.first + i)) < p.threshold();
        a.out<T>(0)[i] = dropped ? T{0} : a.in<T>(0)[i] * scale;
      }
    };
  });
}

}  // namespace
}  // namespace dropout_reference_cc

Kernel dropout_reference() {
  using namespace dropout_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
