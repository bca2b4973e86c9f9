// The kernels of the reductions and of expand, in order. Each is defined in the file of its name.
#include "ops/reduce/reduce.h"

namespace headroom {

Kernel reduce_cuda_stages();
Kernel reduce_cpu_passes();
Kernel expand_cuda_stretch();
Kernel expand_cpu_rows();
Kernel reduce_reference();

std::vector<Operator> reduce_operators() {
  const std::vector<Kernel> reductions = {reduce_cuda_stages(), reduce_cpu_passes(), reduce_reference()};
  std::vector<Operator> list;
  for (const std::string name : {"reduce_sum", "reduce_mean", "reduce_max"})
    list.push_back({.schema = reduce_schema(name),
                    .kernels = reductions,
                    .cases = reduce_cases(name),
                    .exact = name != "reduce_mean"});
  list.push_back(
      {.schema = reduce_max_grad_schema(), .kernels = reductions, .cases = reduce_cases("reduce_max_grad")});
  list.push_back({.schema = expand_schema(),
                  .kernels = {expand_cuda_stretch(), expand_cpu_rows(), reduce_reference()},
                  .cases = reduce_cases("expand"),
                  .exact = true});
  return list;
}

}  // namespace headroom
