#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/shares.h"
#include "comm/communicator.h"

namespace headroom {

// How a collective is split into chunks. For sums and broadcasts a chunk is one run of elements. The others
// treat every rank's part differently: there a chunk is one run from each part, one after another.
class Chunks {
 public:
  // Large enough that starting a copy (about 10 us) costs little in comparison; small enough that the first
  // and last chunk, which nothing hides, are a small part of the whole.
  static constexpr std::int64_t kMax = 4 << 20, kLeast = 256 << 10, kMany = 16;  // bytes, bytes, chunks

  Chunks(const Collective& c, int rank, int size)
      : c_(c),
        rank_(rank),
        size_(size),
        parted_(c.kind == Collective::Kind::all_gather || c.kind == Collective::Kind::reduce_scatter),
        width_(static_cast<std::int64_t>(size_of(c.dtype))) {
    const std::int64_t bytes = std::clamp(c.bytes() / kMany, kLeast, kMax);
    run_ = bytes / width_ / (parted_ ? size_ : 1);
    const std::int64_t longest = parted_ ? share_of(c.count, size_, 0).count : c.count;
    number_ = (longest + run_ - 1) / run_;
  }

  bool parted() const { return parted_; }
  std::int64_t number() const { return number_; }
  std::int64_t elements(std::int64_t chunk) const { return std::min(run_, c_.count - chunk * run_); }
  void counts(std::int64_t chunk, std::vector<int>& counts) const {
    for (int r = 0; r < size_; ++r)
      counts[static_cast<std::size_t>(r)] = static_cast<int>(part(chunk, r).count);
  }

  // Calls copy(GPU address, offset in the slot, bytes) for what this rank sends of a chunk, or receives.
  template <class Copy>
  void given(std::int64_t chunk, Copy&& copy) const {
    if (parted_) return each_part(chunk, c_.kind == Collective::Kind::reduce_scatter, true, copy);
    if (c_.kind != Collective::Kind::broadcast || c_.root == rank_) whole(chunk, copy);
  }
  template <class Copy>
  void taken(std::int64_t chunk, Copy&& copy) const {
    if (c_.kind == Collective::Kind::reduce_scatter) {
      const Share mine = part(chunk, rank_);  // the link leaves it at the start of the slot
      if (mine.count > 0) copy(address(mine.first), std::size_t{0}, bytes(mine.count));
    } else if (parted_) {
      each_part(chunk, true, false, copy);
    } else if (c_.kind != Collective::Kind::broadcast || c_.root != rank_) {
      whole(chunk, copy);
    }
  }

 private:
  // This chunk's run of a rank's part; positions are in the whole.
  Share part(std::int64_t chunk, int rank) const {
    const Share share = share_of(c_.count, size_, rank);
    return {share.first + chunk * run_, std::clamp<std::int64_t>(share.count - chunk * run_, 0, run_)};
  }
  void* address(std::int64_t element) const { return static_cast<std::byte*>(c_.data) + element * width_; }
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements * width_); }

  template <class Copy>
  void whole(std::int64_t chunk, Copy&& copy) const {
    copy(address(chunk * run_), std::size_t{0}, bytes(elements(chunk)));
  }
  template <class Copy>
  void each_part(std::int64_t chunk, bool others, bool own, Copy&& copy) const {
    std::size_t at = 0;
    for (int r = 0; r < size_; ++r) {
      const Share run = part(chunk, r);
      if (run.count > 0 && (r == rank_ ? own : others)) copy(address(run.first), at, bytes(run.count));
      at += bytes(run.count);
    }
  }

  const Collective& c_;
  const int rank_, size_;
  const bool parted_;
  const std::int64_t width_;
  std::int64_t run_ = 1, number_ = 0;
};

}  // namespace headroom
