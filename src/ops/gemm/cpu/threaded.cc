// "cpu:threaded": cpu:vector with a share of the rows for each thread. The bits do not depend on their
// number.
#include "ops/cpu/parallel.h"
#include "ops/gemm/cpu/vector.h"

namespace headroom {
namespace gemm_cpu_threaded_cc {
namespace {

Work work(const Problem& problem, const Target& target) {
  return gemm_cpu_work(problem, target, "cpu.gemm.threaded", gemm_vector_loads(problem.outputs[0].dtype));
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      gemm_by_vectors(p, args.in<T>(0), args.in<T>(1), p.adds() ? args.in<T>(2) : nullptr, args.out<T>(0),
                      static_cast<T*>(args.workspace), [](std::int64_t count, auto&& body) {
                        parallel_for(count, 1,
                                     [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
                      });
    };
  });
}

}  // namespace
}  // namespace gemm_cpu_threaded_cc

Kernel gemm_cpu_threaded() {
  using namespace gemm_cpu_threaded_cc;
  return {.name = "cpu:threaded", .work = work, .prepare = prepare, .workspace = gemm_vector_workspace};
}

}  // namespace headroom
