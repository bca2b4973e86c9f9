#pragma once

#include "ops/operator.h"

namespace headroom {

// dropout(x, step[1] fp64; rate, seed = 0, key = 0, first = 0): each element is 0 with probability `rate`,
// else x / (1 - rate). Whether element i is dropped is a pure function of (seed, key, step, first + i): key
// tells the dropouts of a network apart, step lives in device memory, and first is the place of x within a
// batch that is spread over several devices. The gradient is the same operator on dy.
std::vector<Operator> dropout_operators();

struct DropoutProblem {
  std::int64_t n = 0, first = 0;
  double rate = 0;
  std::uint64_t seed = 0, key = 0;

  std::uint64_t threshold() const;  // an element is dropped where its 32 random bits are below this
  std::uint64_t stream(double step) const;
};
DropoutProblem dropout_problem(const Problem& problem);

OpSchema dropout_schema();
std::vector<Case> dropout_cases();

}  // namespace headroom
