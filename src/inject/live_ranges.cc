#include "inject/live_ranges.h"

namespace headroom::inject {
namespace {

std::string joined_path(const std::string& outer, const std::string& name) {
  return outer.empty() ? name : outer + " > " + name;
}

}  // namespace

bool ForwardOperators::begin(std::int64_t mark, const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!operators_.try_emplace(mark, Operator{path}).second) return false;
  order_.push_back(mark);
  if (order_.size() > kMaxOperators) {
    operators_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

void ForwardOperators::end(std::int64_t mark) {
  const std::lock_guard lock(mutex_);
  if (const auto it = operators_.find(mark); it != operators_.end()) it->second.ended = true;
}

std::string ForwardOperators::ended(std::int64_t mark) const {
  const std::lock_guard lock(mutex_);
  const auto it = operators_.find(mark);
  return it != operators_.end() && it->second.ended ? it->second.path : "";
}

LivePath opened_range(const LivePath* around, const std::string& name, std::int64_t mark,
                      ForwardOperators& operators) {
  const std::string outer = around != nullptr ? around->without_ops : "";
  if (mark == 0) {
    const std::string path = joined_path(outer, name);
    return {path, path};
  }
  if (mark > 0)
    if (const std::string forward = operators.ended(mark); !forward.empty()) {
      const std::string path = joined_path(forward, "backward");
      return {path, path};
    }
  const bool first = mark > 0 && operators.begin(mark, outer);
  if (!outer.empty()) return {outer, outer, first};
  return {around != nullptr ? around->path : name, "", first};
}

}  // namespace headroom::inject
