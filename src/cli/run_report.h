#pragma once

// The report of the verb run on outputs and their distance from the expected ones.

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/table_view.h"
#include "data/tensor_values.h"

namespace headroom::cli {

// `items`: those that were given to the network. Rows of scores, one for each, are shown with the best
// classes.
void print_outputs(const std::vector<NamedTensor>& outputs, std::int64_t items, const TableView& view);
Json output_json(const NamedTensor& output, std::int64_t items);

struct Compared {
  std::string name;
  Difference difference;
  Shape shape;
  std::string str() const;  // the difference
};
void print_compared(const std::vector<Compared>& list);  // outputs as expected
Json compared_json(const Compared& compared);

}  // namespace headroom::cli
