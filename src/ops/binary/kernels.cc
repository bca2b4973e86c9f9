// The kernels of two operands, in order. Each is defined in the file of its name.
#include "ops/binary/binary.h"

namespace headroom {

Kernel binary_cuda_stretch();
Kernel binary_cpu_rows();
Kernel pow_cpu_rows();  // named as the one before: cpu:rows
Kernel binary_reference();

std::vector<Operator> binary_operators() {
  const std::vector<Kernel> kernels = {binary_cuda_stretch(), binary_cpu_rows(), binary_reference()},
                            powers = {binary_cuda_stretch(), pow_cpu_rows(), binary_reference()};
  std::vector<Operator> list;
  for (const std::string name : {"add", "sub", "mul", "div", "maximum", "minimum"})
    list.push_back({.schema = binary_schema(name),
                    .kernels = kernels,
                    .cases = binary_cases(name),
                    .exact = name != "div"});
  list.push_back({.schema = binary_schema("pow"), .kernels = powers, .cases = binary_cases("pow")});
  list.push_back(
      {.schema = binary_schema("mod"), .kernels = kernels, .cases = binary_cases("mod"), .exact = true});
  for (const std::string name : {"pow_grad_base", "pow_grad_exponent"})
    list.push_back({.schema = pow_grad_schema(name), .kernels = powers, .cases = binary_cases(name)});
  for (const std::string name : {"bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"})
    list.push_back(
        {.schema = bits_schema(name), .kernels = kernels, .cases = binary_cases(name), .exact = true});
  return list;
}

}  // namespace headroom
