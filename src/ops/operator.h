#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/schema.h"
#include "ops/kernel.h"

namespace headroom {

enum class Tier { smoke, ci, perf };

// How a test fills an input. Small integers make every sum exact, so any order of summation gives the same
// bits.
struct Fill {
  enum class Kind { normal, positive, label, digit, constant };
  Kind kind = Kind::normal;
  double value = 0;  // label, digit: how many there are, from 0; constant: the value; positive: an offset
};

// A problem worth running. Tests, ladders and the tuner share the list.
struct Case {
  Tier tier = Tier::ci;
  std::vector<Shape> inputs;
  Attrs attrs = {};
  std::vector<Fill> fills = {};                   // shorter than inputs: the rest is normal
  std::vector<std::optional<DType>> dtypes = {};  // kernel's float type where absent; labels are int32
  std::vector<Layout> layouts = {};               // of the inputs, NCHW where absent
  bool exact = true;  // false: rounds even where the operator otherwise does not (a fused tanh)
};

// All of one operator: what it means, what runs it, what to try it on.
struct Operator {
  OpSchema schema;
  std::vector<Kernel> kernels;  // order is policy: the chooser's pick, else the first that accepts
  std::vector<Case> cases;
  bool exact = false;  // products and sums only: integer inputs must match the reference to the bit
  // Inputs to step over in gradient checks; kinks (ReLU at 0, ties in pooling) are avoided by distinct
  // inputs.
  std::vector<int> no_gradient = {};
  // Elements summed on the way to each output, where work per output does not tell: a softmax's row. The
  // tolerance of the tests grows with the root of it. Null: the cost tells.
  double (*sum_length)(const Problem& problem) = nullptr;
};

// The list in registry.cc, with the CPU kernels of the level in use. `reference` is the last kernel of every
// operator that runs.
std::span<const Operator> operators();
const Operator& operator_of(std::string_view name);

}  // namespace headroom

// Compiled in operators.cc alone, not in every operator's file.
extern template class std::vector<headroom::Case>;
extern template class std::vector<headroom::Kernel>;
extern template class std::vector<headroom::Operator>;
