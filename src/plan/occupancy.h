#pragma once

#include <cstddef>
#include <vector>

namespace headroom {

// Occupied addresses as sorted stretches that neither overlap nor touch.
struct Stretch {
  std::size_t begin, end;
};

class Stretches {
 public:
  void add(std::size_t begin, std::size_t end);
  // The stretches that end after an address.
  struct Rest {
    const Stretch *next, *end;
  };
  Rest after(std::size_t address) const;

 private:
  std::vector<Stretch> list_;
};

// For each step, an address below which everything is occupied: a search may begin there. This is a tree over
// the steps; each node holds the min and max of its range.
class Heights {
 public:
  explicit Heights(std::size_t steps);  // a power of two
  std::size_t most(std::size_t first, std::size_t last);
  // Now [begin, end) is occupied at these steps. If all below begin was occupied, all below end is.
  void raise(std::size_t first, std::size_t last, std::size_t begin, std::size_t end);

 private:
  struct Node {
    std::size_t least = 0, most = 0, pending = 0;  // pending: not yet passed to the nodes below
  };
  struct Range {
    std::size_t node, first, last;
  };
  void lift(std::size_t node, std::size_t height);
  std::size_t most(Range range, std::size_t first, std::size_t last);
  void raise(Range range, std::size_t first, std::size_t last, Stretch taken);

  std::vector<Node> nodes_;
};

// Which addresses are occupied at which steps, as a tree over the steps. Every node knows what is occupied
// throughout its range and what is occupied at some step of it. A search reads a few nodes per level. The
// pieces of a network merge into few stretches, so a search takes about log(steps). Lifetimes in random order
// cost more: 20,000 of them take half a second in total.
class Occupancy {
 public:
  explicit Occupancy(int steps);

  // The lowest address from which `bytes` bytes are free at all of the steps.
  std::size_t lowest_gap(int first, int last, std::size_t bytes);
  void take(int first, int last, Stretch taken);

 private:
  std::size_t steps_;  // rounded up to a power of two; the children of node n are 2n and 2n + 1
  std::vector<Stretches> throughout_, sometimes_;
  Heights heights_;
  std::vector<Stretches::Rest> in_the_way_;  // a member only to reuse its memory
};

}  // namespace headroom
