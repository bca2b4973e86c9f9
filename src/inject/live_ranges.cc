#include "inject/live_ranges.h"

namespace headroom::inject {
namespace {

std::string joined_path(const std::string& outer, const std::string& name) {
  return outer.empty() ? name : outer + " > " + name;
}

}  // namespace

void ForwardOperators::began(std::int64_t mark, const std::string& path, std::uint64_t thread) {
  const std::lock_guard lock(mutex_);
  const auto [it, is_new] = operators_.try_emplace(mark, Operator{path, thread});
  if (!is_new) {
    if (it->second.thread == thread) it->second.path = path;
    return;
  }
  order_.push_back(mark);
  if (order_.size() > kMaxOperators) {
    operators_.erase(order_.front());
    order_.pop_front();
  }
}

std::string ForwardOperators::forward(std::int64_t mark, std::uint64_t thread, bool in_backward) const {
  const std::lock_guard lock(mutex_);
  const auto it = operators_.find(mark);
  return it != operators_.end() && (in_backward || it->second.thread != thread) ? it->second.path : "";
}

bool is_backward_range(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function");
}

LivePath opened_range(const LivePath* around, const std::string& name, std::int64_t mark,
                      std::uint64_t thread, ForwardOperators& operators) {
  const std::string outer = around != nullptr ? around->without_ops : "";
  const bool in_backward = (around != nullptr && around->in_backward) || is_backward_range(name);
  if (mark == 0) {
    const std::string path = joined_path(outer, name);
    return {path, path, in_backward};
  }
  if (mark > 0) {
    if (const std::string forward = operators.forward(mark, thread, in_backward); !forward.empty()) {
      const std::string path = joined_path(forward, "backward");
      return {path, path, in_backward};
    }
    if (!in_backward) operators.began(mark, outer, thread);
  }
  if (!outer.empty()) return {outer, outer, in_backward};
  return {around != nullptr ? around->path : name, "", in_backward};
}

}  // namespace headroom::inject
