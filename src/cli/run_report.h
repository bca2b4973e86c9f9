#pragma once

// The report of the verb run on outputs and their distance from the expected ones.

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "data/tensor_values.h"

namespace headroom::cli {

void print_outputs(const std::vector<NamedTensor>& outputs, const TableView& view);
Json output_json(const NamedTensor& output);

struct Compared {
  std::string name;
  Difference difference;
  Shape shape;
  std::string str() const;  // the difference
};
void print_compared(const std::vector<Compared>& list);  // outputs as expected
Json compared_json(const Compared& compared);

}  // namespace headroom::cli
