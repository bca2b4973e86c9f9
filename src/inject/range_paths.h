#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "inject/records.h"

namespace headroom::inject {

// The ranges around every call of a process, as paths: "step > forward". Operators that PyTorch marks (see
// operator_mark) are no part of a path unless nothing else is around them. An operator of the backward pass
// has the sequence number of the one in the forward pass: it belongs to that one's path, "conv1 > backward".
class RangePaths {
 public:
  explicit RangePaths(const ProcessRecord& process);

  const std::string* of_call(std::uint32_t correlation) const;  // null: no range is around it

 private:
  struct Range;
  struct Open;
  struct Forward {
    std::uint32_t lane = 0;
    std::int64_t first_ns = 0;  // of this lane
    int path = -1;              // around the last one of it
  };

  void find_forward_paths(const std::vector<Range>& ranges);
  void name_calls(const std::vector<Range>& ranges);
  Open opened(const std::vector<Open>& around, const Range& range);
  int path_id(int outer, const std::string& name);

  const ProcessRecord& process_;
  std::vector<std::string> paths_;
  std::map<std::pair<int, std::string>, int> ids_;     // by the path around and the name
  std::unordered_map<std::int64_t, Forward> forward_;  // by sequence number
  std::unordered_map<std::uint32_t, int> by_call_;     // by correlation
};

}  // namespace headroom::inject
