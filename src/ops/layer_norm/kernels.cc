// The kernels of layer normalisation, in order. Each is defined in the file of its name.
#include "ops/layer_norm/layer_norm.h"

namespace headroom {

Kernel layer_norm_cuda_rows();
Kernel layer_norm_cpu_rows();
Kernel layer_norm_reference();

namespace layer_norm_kernels_cc {
namespace {

double row_length(const Problem& p) { return static_cast<double>(layer_norm_problem(p).columns); }

}  // namespace
}  // namespace layer_norm_kernels_cc

std::vector<Operator> layer_norm_operators() {
  using namespace layer_norm_kernels_cc;
  const std::vector<Kernel> kernels = {layer_norm_cuda_rows(), layer_norm_cpu_rows(), layer_norm_reference()};
  return {{.schema = layer_norm_schema(),
           .kernels = kernels,
           .cases = layer_norm_cases(false),
           .sum_length = row_length},
          {.schema = layer_norm_grad_schema(),
           .kernels = kernels,
           .cases = layer_norm_cases(true),
           .sum_length = row_length}};
}

}  // namespace headroom
