#pragma once

// Runs one kernel on one problem inside guard zones and holds it against the reference, computed in fp64.

#include <string>
#include <vector>

#include "ops/operator.h"

namespace headroom::testing {

using Values = std::vector<double>;  // any tensor, widened

// All-positive data shows what mixed signs hide: accumulators that cut off instead of rounding.
enum class Numbers { normal, small_integers, positive };

// The problem a case stands for, in one float type.
Problem problem_of(const Operator& op, const Case& c, DType dtype);

// Deterministic inputs for a problem; `seed` varies them. Distinct where ties would matter.
std::vector<Values> inputs_of(const Problem& problem, const Case& c, Numbers numbers, std::uint64_t seed);

struct Run {
  std::vector<Values> outputs;
  bool guards_intact = true;
};
// On the CPU, or on the first GPU for a kernel that is for GPUs.
Run run_kernel(const Kernel& kernel, const Problem& problem, const std::vector<Values>& inputs,
               const Policy& policy = {}, const std::string& variant = {});
// The first GPU, opened once; null where there is none, and then `why` says why.
Device* test_gpu(std::string* why = nullptr);

const Kernel& reference_of(const Operator& op);
const Kernel& cpu_kernel(const Operator& op);             // the first one for CPUs
const Kernel& cpu_kernel(const Problem& problem);         // the first one for CPUs that accepts
std::vector<Kernel> kernels_here(const Operator& op);     // those for devices that this machine has
std::vector<Kernel> kernels_for(const Problem& problem);  // those of its operator that accept it
Problem widened(Problem problem);  // as references take it: floats in fp64, all tensors as NCHW
Problem in_nhwc(Problem problem);  // all tensors of rank 4

// Error allowed on an output whose elements are sums of `terms` products: a few roundings of the stored type
// plus the random walk of the accumulation. A serial sum of n unit terms errs by about 0.4 u sqrt(n) times
// its own size; the worst of 10^6 elements lies five deviations out, so 4 u sqrt(n) leaves a factor of two.
struct Comparison {
  double worst_ratio = 0;  // error / allowed; at most 1 passes
  std::string where;
};
Comparison compare(const Problem& problem, std::size_t output, const Values& got, const Values& want,
                   bool exact, const Policy& policy = {});

}  // namespace headroom::testing
