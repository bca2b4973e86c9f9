#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

namespace headroom::inject {

// Where the operators of PyTorch's forward pass ran, by their marks (see operator_mark), while the program
// runs. Several threads may use it. It remembers the last of them.
class ForwardOperators {
 public:
  // True if this is the first operator with the mark: that of the forward pass.
  bool begin(std::int64_t mark, const std::string& path);
  void end(std::int64_t mark);  // of the first one
  // The path around the first one, if that has ended; empty: none.
  std::string ended(std::int64_t mark) const;

 private:
  static constexpr std::size_t kMaxOperators = 1 << 16;
  struct Operator {
    std::string path;
    bool ended = false;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::int64_t, Operator> operators_;
  std::deque<std::int64_t> order_;
};

// The path of an open range, as RangePaths finds it in a record.
struct LivePath {
  std::string path;         // with operators, where nothing else is around them
  std::string without_ops;  // empty: none
  bool first = false;       // of its mark: its end must be told
};
// `around`: of the same thread; null: none.
LivePath opened_range(const LivePath* around, const std::string& name, std::int64_t mark,
                      ForwardOperators& operators);

}  // namespace headroom::inject
