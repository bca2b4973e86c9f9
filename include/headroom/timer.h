#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headroom {

// All calls of one timer at one place of the nesting.
struct TimerRow {
  std::string name;
  int depth = 0;  // 0: outermost; a row stands below the one it was nested in
  std::int64_t calls = 0;
  double total_s = 0;  // with what was nested in it
  double self_s = 0;   // without
  double min_s = 0, max_s = 0;
  double mean_s() const { return calls > 0 ? total_s / static_cast<double>(calls) : 0; }
};

// Wall times of named pieces of code, nested as they were started. Any number of threads may use one Timer at
// once: each has its own nesting, and equal names at equal places share a row. A start and its stop cost 0.1
// to 0.2 us (Neoverse-V1, one thread).
class Timer {
 public:
  Timer();
  ~Timer();
  Timer(Timer&& other) noexcept;
  Timer& operator=(Timer&& other) noexcept;

  void start(const std::string& name);
  // Ends what this thread started last, which must bear this name; anything else is an Error.
  void stop(const std::string& name);

  // Runs from here to the end of the block. Whatever was started inside and not stopped ends with it, so that
  // an exception leaves nothing running.
  class Scope {
   public:
    Scope(Scope&& other) noexcept;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class Timer;
    Scope(Timer& timer, std::size_t depth) : timer_(&timer), depth_(depth) {}
    Timer* timer_;
    std::size_t depth_;
  };
  [[nodiscard]] Scope scope(const std::string& name);

  std::vector<TimerRow> rows() const;  // of what has ended, in the order of first starts
  std::string dump() const;            // the rows as a table
  void reset();                        // forgets the rows; what is running goes on

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
