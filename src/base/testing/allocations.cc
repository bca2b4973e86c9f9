#include "base/testing/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0}, bytes_allocated{0};

[[maybe_unused]] void* counted(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    bytes_allocated.fetch_add(static_cast<long>(bytes), std::memory_order_relaxed);
  }
  bytes = (bytes + alignment) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, bytes)) return memory;
  throw std::bad_alloc();
}

[[maybe_unused]] constexpr std::size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

// Sanitizers have their own operators, which must not be replaced: nothing is counted there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// After inlining, the compiler sees memory from new passed to free; both sides are ours.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t bytes) { return counted(bytes, kDefault); }
void* operator new[](std::size_t bytes) { return counted(bytes, kDefault); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif

namespace headroom::testing {

void start_counting_allocations() {
  allocations = bytes_allocated = 0;
  counting = true;
}

long stop_counting_allocations() {
  counting = false;
  return allocations;
}

long bytes_counted() { return bytes_allocated; }

}  // namespace headroom::testing
