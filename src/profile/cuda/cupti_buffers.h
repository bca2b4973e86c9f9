#pragma once

#ifdef HEADROOM_HAS_CUPTI

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace headroom {

// The memory CUPTI writes records to. It asks for a buffer on the thread that launches kernels, so all of
// them are made beforehand; what comes back is read after the trace.
class CuptiBuffers {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  struct Full {
    std::uint8_t* data;
    std::size_t bytes;
  };

  void reserve(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) make();
  }
  std::uint8_t* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) make();
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give(std::uint8_t* buffer, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > 0)
      full_.push_back({buffer, bytes});
    else
      free_.push_back(buffer);
  }
  void recycle() {  // what was read, before another trace
    const std::lock_guard lock(mutex_);
    for (const Full& full : full_) free_.push_back(full.data);
    full_.clear();
  }
  const std::vector<Full>& full() const { return full_; }

 private:
  struct Free {
    void operator()(std::uint8_t* data) const { std::free(data); }
  };
  void make() {
    all_.emplace_back(static_cast<std::uint8_t*>(std::aligned_alloc(8, kBytes)));
    free_.push_back(all_.back().get());
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<std::uint8_t, Free>> all_;
  std::vector<std::uint8_t*> free_;
  std::vector<Full> full_;
};

}  // namespace headroom
#endif
