#include "base/shape.h"

#include <algorithm>

namespace headroom {

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > kMaxRank)
    reject("a tensor of {} dimensions; at most {} are supported", dims.size(), kMaxRank);
  std::copy(dims.begin(), dims.end(), dims_.begin());
  rank_ = static_cast<int>(dims.size());
}

std::int64_t Shape::numel() const {
  std::int64_t n = 1;
  for (std::int64_t d : dims()) n *= d;
  return n;
}

Shape Shape::without_first() const { return rank_ == 0 ? Shape{} : Shape(dims().subspan(1)); }

bool Shape::operator==(const Shape& other) const {
  return std::equal(dims().begin(), dims().end(), other.dims().begin(), other.dims().end());
}

std::string_view name_of(Layout layout) { return layout == Layout::nchw ? "nchw" : "nhwc"; }

bool TensorType::lies_as(Layout order) const {
  if (layout == order) return true;
  return shape.rank() != 4 || shape[1] == 1 || shape[2] * shape[3] == 1;
}

std::string TensorType::str() const {
  return layout == Layout::nchw ? shape.str() : fmt::format("{}:{}", shape.str(), name_of(layout));
}

std::string Shape::str() const { return rank_ == 0 ? "scalar" : fmt::format("{}", fmt::join(dims(), "x")); }

}  // namespace headroom
