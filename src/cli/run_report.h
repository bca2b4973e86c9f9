#pragma once

// What the verb run tells of outputs and of how far they are from what was expected.

#include <string>
#include <vector>

#include "base/json.h"
#include "data/tensor_values.h"

namespace headroom::cli {

void print_outputs(const std::vector<NamedTensor>& outputs);
Json output_json(const NamedTensor& output);

struct Compared {
  std::string name;
  Difference difference;
  Shape shape;
  std::string str() const;  // how it differs
};
void print_compared(const std::vector<Compared>& list);  // those that are as expected
Json compared_json(const Compared& compared);

}  // namespace headroom::cli
