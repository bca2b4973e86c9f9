#pragma once

// Many tensors as one range of elements, so that a network of small parameters costs one waking of the team.

#include <algorithm>
#include <vector>

#include "base/shape.h"

namespace headroom {

class TensorList {
 public:
  void add(const Shape& shape) { ends_.push_back(numel() + shape.numel()); }
  std::int64_t numel() const { return ends_.empty() ? 0 : ends_.back(); }
  std::size_t size() const { return ends_.size(); }

  // Calls body(tensor, from, to) for each tensor's part of the elements [begin, end) of the list.
  template <class Body>
  void each_piece(std::int64_t begin, std::int64_t end, Body&& body) const {
    auto i = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
    for (; begin < end; ++i) {
      const std::int64_t start = i == 0 ? 0 : ends_[i - 1], stop = std::min(end, ends_[i]);
      body(i, begin - start, stop - start);
      begin = stop;
    }
  }

 private:
  std::vector<std::int64_t> ends_;
};

}  // namespace headroom
