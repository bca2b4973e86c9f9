#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace headroom {

// What happens to finished pieces of rows of a product: f(row, first column, columns, c), where c points to
// the piece, which is in a cache. Threads call it at the same time. Holds small closures without allocating.
template <class T>
class AfterGemm {
 public:
  AfterGemm() = default;
  template <class F>
  AfterGemm(F f)  // implicit: a closure is one
      : call_([](const void* state, std::int64_t row, std::int64_t column, std::int64_t columns, T* c) {
          (*static_cast<const F*>(state))(row, column, columns, c);
        }) {
    static_assert(sizeof(F) <= kBytes && std::is_trivially_copyable_v<F>);
    ::new (static_cast<void*>(state_)) F(f);
  }
  explicit operator bool() const { return call_ != nullptr; }
  void operator()(std::int64_t row, std::int64_t column, std::int64_t columns, T* c) const {
    call_(state_, row, column, columns, c);
  }

 private:
  static constexpr std::size_t kBytes = 32;
  void (*call_)(const void*, std::int64_t, std::int64_t, std::int64_t, T*) = nullptr;
  alignas(std::max_align_t) std::byte state_[kBytes] = {};
};

}  // namespace headroom
