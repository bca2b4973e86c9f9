// The kernels of batch normalisation, in order. Each is defined in the file of its name.
#include "ops/batch_norm/batch_norm.h"

namespace headroom {

Kernel batch_norm_cuda_rows();
Kernel batch_norm_cuda_channels();
Kernel batch_norm_cpu_channels();
Kernel batch_norm_reference();

std::vector<Operator> batch_norm_operators() {
  const std::vector<Kernel> kernels = {batch_norm_cuda_rows(), batch_norm_cuda_channels(),
                                       batch_norm_cpu_channels(), batch_norm_reference()};
  return {
      {.schema = batch_norm_schema(),
       .kernels = kernels,
       .cases = batch_norm_cases("batch_norm"),
       .no_gradient = {3, 4}},
      {.schema = batch_norm_grad_schema(), .kernels = kernels, .cases = batch_norm_cases("batch_norm_grad")},
      {.schema = batch_norm_inference_schema(),
       .kernels = kernels,
       .cases = batch_norm_cases("batch_norm_inference"),
       .no_gradient = {3, 4}},
      {.schema = batch_norm_inference_grad_schema(),
       .kernels = {kernels.begin() + 1, kernels.end()},
       .cases = batch_norm_cases("batch_norm_inference_grad")}};
}

}  // namespace headroom
