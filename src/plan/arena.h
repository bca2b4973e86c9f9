#pragma once

#include <cstddef>
#include <vector>

namespace headroom {

// A piece of scratch memory that must exist from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0, last = 0;
  std::size_t offset = 0;  // the result
};

// Gives every piece an offset such that pieces alive at the same time never overlap: largest piece first,
// each into the lowest gap that holds it. Returns the bytes needed. The time is about linear: 20,000 pieces
// of a chain, or of a network with gradients, take 10 to 60 ms (see Occupancy).
std::size_t place(std::vector<Lifetime>& pieces);

}  // namespace headroom
