#pragma once

// Where packed panels of matrix products lie.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace headroom::packed {

// The half of the second-level cache of this processor, for panels of B. The other half is for what passes
// by: panels of A, rows of C.
inline std::int64_t group_bytes() {
  static const std::int64_t bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0: unknown
  return (bytes > 0 ? bytes : 1 << 20) / 2;
}

// Memory of a thread that grows and stays: no product allocates after one of its size.
class PackedMemory {
 public:
  template <class T>
  T* at_least(std::int64_t count) {
    auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_) {
      if (bytes >= kHugePage / 2) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
      bytes_ = 0;
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      ::madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // in vain where there are none
      bytes_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::size_t kHugePage = 2 << 20;
  static constexpr std::align_val_t kAlignment{kHugePage};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace headroom::packed
