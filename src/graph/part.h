#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace headroom {

// The byte runs of the whole that form the part, in order; elements have `size` bytes.
struct PartRuns {
  std::size_t count, length;  // runs, bytes of each
  std::size_t first, stride;  // in the whole: start of the first run, distance between runs
};
PartRuns runs_of(const Part& part, std::size_t size);

std::vector<std::byte> cut_part(const Part& part, std::size_t size, const std::vector<std::byte>& whole);
void paste_part(const Part& part, std::size_t size, const std::vector<std::byte>& from,
                std::vector<std::byte>& whole);

}  // namespace headroom
