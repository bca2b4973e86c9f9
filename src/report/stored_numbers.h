#pragma once

#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "graph/graph.h"
#include "headroom/net.h"

namespace headroom {

// What a network stores, by what it is for.
struct StoredNumbers {
  std::int64_t parameters = 0;  // those that training changes, also of nodes after a gap
  std::int64_t unreached = 0;   // those of them that belong to nodes which are not in the graph
  std::int64_t buffers = 0;     // running statistics, masks, tables, constants of formulas
};
StoredNumbers stored_numbers(const Net& net, const Graph& forward);

std::string stored_text(const StoredNumbers& numbers);  // "25,557,032, and 53,120 numbers in buffers"
void add_stored_numbers(Json& json, const StoredNumbers& numbers);

}  // namespace headroom
