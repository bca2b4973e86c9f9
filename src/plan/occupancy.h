#pragma once

#include <cstddef>
#include <vector>

namespace headroom {

// Addresses that are taken, as stretches that neither overlap nor touch, in order.
struct Stretch {
  std::size_t begin, end;
};

class Stretches {
 public:
  void add(std::size_t begin, std::size_t end);
  // Those that end after an address.
  struct Rest {
    const Stretch *next, *end;
  };
  Rest after(std::size_t address) const;

 private:
  std::vector<Stretch> list_;
};

// For each step an address below which everything is taken: where a search may begin. A tree over the steps,
// each node with the least and the most of its range.
class Heights {
 public:
  explicit Heights(std::size_t steps);  // a power of two
  std::size_t most(std::size_t first, std::size_t last);
  // [begin, end) was taken at these steps: where everything was up to begin, everything now is up to end.
  void raise(std::size_t first, std::size_t last, std::size_t begin, std::size_t end);

 private:
  struct Node {
    std::size_t least = 0, most = 0, pending = 0;  // pending: not yet told to the nodes below
  };
  struct Range {
    std::size_t node, first, last;
  };
  void lift(std::size_t node, std::size_t height);
  std::size_t most(Range range, std::size_t first, std::size_t last);
  void raise(Range range, std::size_t first, std::size_t last, Stretch taken);

  std::vector<Node> nodes_;
};

// Which addresses are taken at which steps, as a tree over the steps. Every node knows what is taken
// throughout its range and what is taken at some step of it. A search reads a few nodes for each level;
// what networks leave behind joins into few stretches there, so that it takes about the logarithm of the
// steps. Lifetimes without any order cost more: 20,000 random ones half a second in all.
class Occupancy {
 public:
  explicit Occupancy(int steps);

  // The lowest address from which so many bytes are free at each of the steps.
  std::size_t lowest_gap(int first, int last, std::size_t bytes);
  void take(int first, int last, Stretch taken);

 private:
  std::size_t steps_;  // rounded up to a power of two; node n has nodes 2n and 2n + 1 below it
  std::vector<Stretches> throughout_, sometimes_;
  Heights heights_;
  std::vector<Stretches::Rest> in_the_way_;  // kept for its memory
};

}  // namespace headroom
