#pragma once

// Checks every kind of collective against its expected result, on the host or on a GPU.

#include <gtest/gtest.h>

#include <vector>

#include "base/shares.h"
#include "comm/communicator.h"

namespace headroom::testing {

// Small integers: every type holds them and their sums exactly.
template <class T>
T value(int rank, std::int64_t i) {
  return static_cast<T>((rank + 1) * (1 + i % 5));
}
template <class T>
std::vector<T> values(int rank, std::int64_t count) {
  std::vector<T> v(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) v[static_cast<std::size_t>(i)] = value<T>(rank, i);
  return v;
}
template <class T>
Collective of(Collective::Kind kind, std::vector<T>& v) {
  return {
      .kind = kind, .data = v.data(), .count = static_cast<std::int64_t>(v.size()), .dtype = dtype_of<T>()};
}

// In the memory of a GPU if one is given: copied there and back.
inline void run_there(Communicator& c, Collective collective, Device* device) {
  if (device == nullptr) return c.run(collective);
  void* const here = collective.data;
  const auto bytes = static_cast<std::size_t>(collective.bytes());
  const Buffer there = device->allocate(bytes);
  device->upload(there.data(), here, bytes);
  collective.data = there.data();
  collective.device = device;
  c.run(collective);
  device->download(here, there.data(), bytes);
}

template <class T>
void check_kinds(Communicator& c, std::int64_t count, Device* device = nullptr) {
  SCOPED_TRACE(fmt::format("{} of {} on {} ranks", name_of(dtype_of<T>()), count, c.size()));
  using Kind = Collective::Kind;
  const int rank = c.rank(), size = c.size();
  const std::vector<T> first = values<T>(0, count), last = values<T>(size - 1, count);
  std::vector<T> sum(first.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<T>(first[i] * (size * (size + 1) / 2));
  for (const auto& [reduction, expected] :
       {std::pair{Reduction::sum, sum}, {Reduction::max, last}, {Reduction::min, first}}) {
    std::vector<T> v = values<T>(rank, count);
    Collective reduce = of(Kind::all_reduce, v);
    reduce.reduction = reduction;
    run_there(c, reduce, device);
    EXPECT_EQ(v, expected);
  }
  const Share share = share_of(count, size, rank);
  {
    std::vector<T> v = values<T>(rank, count);
    run_there(c, of(Kind::reduce_scatter, v), device);
    const auto part = [&](const std::vector<T>& w) {
      return std::vector<T>(w.begin() + share.first, w.begin() + share.first + share.count);
    };
    EXPECT_EQ(part(v), part(sum));  // and continues, like the other ranks
  }
  {
    std::vector<T> v(first.size());
    std::copy_n(first.begin() + share.first, share.count, v.begin() + share.first);
    run_there(c, of(Kind::all_gather, v), device);
    EXPECT_EQ(v, first);
  }
  for (int root = 0; root < size; ++root) {
    std::vector<T> v = values<T>(rank, count);
    Collective send = of(Kind::broadcast, v);
    send.root = root;
    run_there(c, send, device);
    EXPECT_EQ(v, values<T>(root, count));
  }
  c.barrier();
}

inline void check_types(Communicator& c, std::int64_t count, Device* device = nullptr) {
  check_kinds<double>(c, count, device);
  check_kinds<float>(c, count, device);
  check_kinds<std::int64_t>(c, count, device);
  check_kinds<std::int32_t>(c, count, device);
  check_kinds<std::uint8_t>(c, count, device);
}

}  // namespace headroom::testing
