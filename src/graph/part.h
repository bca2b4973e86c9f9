#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace headroom {

// Runs of bytes of the whole that make up the part, one behind the other; elements of `size` bytes.
struct PartRuns {
  std::size_t count, length;  // runs, bytes of each
  std::size_t first, stride;  // in the whole: of the first one, and from one to the next
};
PartRuns runs_of(const Part& part, std::size_t size);

std::vector<std::byte> cut_part(const Part& part, std::size_t size, const std::vector<std::byte>& whole);
void paste_part(const Part& part, std::size_t size, const std::vector<std::byte>& from,
                std::vector<std::byte>& whole);

}  // namespace headroom
