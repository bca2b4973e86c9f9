// "cpu:vector": register tiles of vectors (vector.h), on one thread.
#include "ops/gemm/cpu/vector.h"

namespace headroom {
namespace gemm_cpu_vector_cc {
namespace {

Work work(const Problem& problem, const Target& target) {
  return gemm_cpu_work(problem, target, "cpu.gemm.vector", gemm_vector_loads(problem.outputs[0].dtype));
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      gemm_by_vectors(p, args.in<T>(0), args.in<T>(1), p.adds() ? args.in<T>(2) : nullptr, args.out<T>(0),
                      static_cast<T*>(args.workspace),
                      [](std::int64_t count, auto&& body) { body(std::int64_t{0}, count); });
    };
  });
}

}  // namespace
}  // namespace gemm_cpu_vector_cc

Kernel gemm_cpu_vector() {
  using namespace gemm_cpu_vector_cc;
  return {.name = "cpu:vector", .work = work, .prepare = prepare, .workspace = gemm_vector_workspace};
}

}  // namespace headroom
