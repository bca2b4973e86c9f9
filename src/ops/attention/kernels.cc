// The kernels of attention, in order. Each is defined in the file of its name.
#include "ops/attention/attention.h"

namespace headroom {

Kernel attention_cuda_mma();
Kernel attention_cuda_tiles();
Kernel attention_cuda_rows();
Kernel attention_cpu_blocks();
Kernel attention_reference();

namespace attention_kernels_cc {
namespace {

std::vector<Kernel> kernels() {
  return {attention_cuda_mma(), attention_cuda_tiles(), attention_cuda_rows(), attention_cpu_blocks(),
          attention_reference()};
}

double row_length(const Problem& p) { return double(attention_problem(p).time); }

}  // namespace
}  // namespace attention_kernels_cc

std::vector<Operator> attention_operators() {
  using namespace attention_kernels_cc;
  return {{.schema = attention_schema(),
           .kernels = kernels(),
           .cases = attention_cases(false),
           .sum_length = row_length},
          {.schema = attention_grad_schema(),
           .kernels = kernels(),
           .cases = attention_cases(true),
           .sum_length = row_length}};
}

}  // namespace headroom
