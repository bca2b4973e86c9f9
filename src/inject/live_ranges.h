#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headroom::inject {

// Where the operators of PyTorch's forward pass ran, by their marks (see operator_mark), while the program
// runs. Several threads may use it. It remembers the last of them.
class ForwardOperators {
 public:
  // An operator that is not of the backward pass. Operators without a gradient have the number of the next
  // one that has one: the last of a thread counts.
  void began(std::int64_t mark, const std::string& path, std::uint64_t thread);
  // The path around the operator of the forward pass; empty: none, or it is of this thread and the backward
  // pass is not known to run here.
  std::string forward(std::int64_t mark, std::uint64_t thread, bool in_backward) const;

 private:
  static constexpr std::size_t kMaxOperators = 1 << 16;
  struct Operator {
    std::string path;
    std::uint64_t thread;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::int64_t, Operator> operators_;
  std::deque<std::int64_t> order_;
};

// True of the range that PyTorch's engine puts around an operator of the backward pass.
bool is_backward_range(std::string_view name);

// The path of an open range, as RangePaths finds it in a record.
struct LivePath {
  std::string path;         // with operators, where nothing else is around them
  std::string without_ops;  // empty: none
  bool in_backward = false;
};
// `around`: of the same thread; null: none.
LivePath opened_range(const LivePath* around, const std::string& name, std::int64_t mark,
                      std::uint64_t thread, ForwardOperators& operators);

}  // namespace headroom::inject
