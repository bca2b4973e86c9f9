#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace headroom::inject {

// Steps found by the repeating sequence of launches: every `period` launches the same kernels begin again.
struct FoundSteps {
  std::size_t period = 0;
  // Equal blocks one after another. Warm-up, evaluations and other launches lie between the runs.
  struct Run {
    std::size_t begin = 0, steps = 0;
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> runs;
  std::size_t steps() const;
};

// `launches` are numbers of kernels in the order of their launch; `begins` the times at which they began: a
// step begins after the longest usual pause. A step holds most kinds of launches that occur: the layers of a
// network repeat, too, but their kernels are only a part. `kernels`, where given, says how many different
// kernels each launch holds: a graph that replaces the steps of a warm-up holds all of theirs. Nothing unless
// a step repeats twice.
std::optional<FoundSteps> find_steps(const std::vector<int>& launches,
                                     const std::vector<std::int64_t>& begins = {},
                                     const std::vector<std::size_t>& kernels = {});

}  // namespace headroom::inject
