// The kernels of the softmaxes, in order. Each is defined in the file of its name.
#include "ops/softmax/softmax.h"

namespace headroom {

Kernel softmax_cuda_rows();
Kernel softmax_cpu_blocks();
Kernel softmax_cpu_rows();
Kernel softmax_cpu_columns();
Kernel softmax_reference();

namespace softmax_kernels_cc {
namespace {

double row_length(const Problem& p) { return static_cast<double>(softmax_problem(p).length); }

}  // namespace
}  // namespace softmax_kernels_cc

std::vector<Operator> softmax_operators() {
  using namespace softmax_kernels_cc;
  const std::vector<Kernel> forward = {softmax_cuda_rows(), softmax_cpu_blocks(), softmax_cpu_columns(),
                                       softmax_reference()},
                            backward = {softmax_cuda_rows(), softmax_cpu_rows(), softmax_cpu_columns(),
                                        softmax_reference()};
  std::vector<Operator> list;
  for (const std::string name : {"softmax", "log_softmax"}) {
    list.push_back({.schema = softmax_schema(name),
                    .kernels = forward,
                    .cases = softmax_cases(false),
                    .sum_length = row_length});
    list.push_back({.schema = softmax_schema(name + "_grad"),
                    .kernels = backward,
                    .cases = softmax_cases(true),
                    .sum_length = row_length});
  }
  return list;
}

}  // namespace headroom
