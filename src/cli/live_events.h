#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace headroom::cli {

// Events on their way to the readers of a live page. The sender never waits: each reader has a short queue,
// and a reader that is too slow for it misses the oldest events. All functions may be called by any thread.
class LiveEvents {
 public:
  static constexpr std::size_t kMaxReaders = 8, kMaxQueued = 8;
  using Text = std::shared_ptr<const std::string>;  // null: none
  struct Reader {
    std::deque<Text> queue;
  };

  // A new reader gets the newest event at once. Null if there are too many readers, or after close().
  std::shared_ptr<Reader> join();
  void leave(const std::shared_ptr<Reader>& reader);
  std::size_t readers() const;

  void send(std::string text);

  // Waits for the reader's next event. `ended`: there will be no more.
  struct Next {
    Text text;
    bool ended = false;
  };
  Next next(Reader& reader, std::chrono::milliseconds max_wait);

  // No more events. Waits until every reader has taken what it still has, but not longer than `patience`.
  void close(std::chrono::milliseconds patience);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Reader>> readers_;
  Text newest_;
  bool closed_ = false;
};

}  // namespace headroom::cli
