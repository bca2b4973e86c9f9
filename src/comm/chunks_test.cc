#include "comm/chunks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace headroom {
namespace {

using Kind = Collective::Kind;
using Values = std::vector<std::int32_t>;

std::int32_t value(int rank, std::int64_t i) { return static_cast<std::int32_t>((rank + 1) * (i % 1000)); }

// Runs a collective chunk by chunk like the GPU communicator, with all ranks in this process: copies each
// chunk to slots, does the link's work on the slots, and copies back.
std::vector<Values> in_chunks(Kind kind, std::int64_t count, int ranks, int root) {
  std::vector<Values> data, slots;
  for (int r = 0; r < ranks; ++r) {
    data.emplace_back(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) data.back()[static_cast<std::size_t>(i)] = value(r, i);
    slots.emplace_back(Chunks::kMax / 4, -1);
  }
  auto chunks_of = [&](int r, Collective& c) {
    c = {.kind = kind,
         .data = data[static_cast<std::size_t>(r)].data(),
         .count = count,
         .dtype = DType::i32,
         .root = root};
    return Chunks(c, r, ranks);
  };
  Collective c;
  const std::int64_t number = chunks_of(0, c).number();
  for (std::int64_t k = 0; k < number; ++k) {
    for (int r = 0; r < ranks; ++r)
      chunks_of(r, c).given(k, [&](void* there, std::size_t at, std::size_t bytes) {
        ASSERT_LE(at + bytes, static_cast<std::size_t>(Chunks::kMax));
        std::memcpy(reinterpret_cast<char*>(slots[static_cast<std::size_t>(r)].data()) + at, there, bytes);
      });
    std::vector<int> counts(static_cast<std::size_t>(ranks), 0);
    const Chunks first = chunks_of(0, c);
    if (first.parted()) first.counts(k, counts);
    std::size_t from = 0;
    std::vector<Values> results = slots;
    for (int r = 0; r < ranks; ++r) {
      const auto mine = static_cast<std::size_t>(r);
      const auto many = static_cast<std::size_t>(counts[mine]);
      if (kind == Kind::broadcast) results[mine] = slots[static_cast<std::size_t>(root)];
      for (std::size_t s = 0; s < slots.size(); ++s) {
        if (kind == Kind::all_gather) std::copy_n(&slots[mine][from], many, &results[s][from]);
        if (kind == Kind::reduce_scatter)
          for (std::size_t i = 0; i < many; ++i)
            results[mine][i] = (s == 0 ? 0 : results[mine][i]) + slots[s][from + i];
        if (kind == Kind::all_reduce)
          for (std::size_t i = 0; i < static_cast<std::size_t>(first.elements(k)); ++i)
            results[mine][i] = (s == 0 ? 0 : results[mine][i]) + slots[s][i];
      }
      from += many;
    }
    for (int r = 0; r < ranks; ++r)
      chunks_of(r, c).taken(k, [&](void* there, std::size_t at, std::size_t bytes) {
        std::memcpy(there, reinterpret_cast<char*>(results[static_cast<std::size_t>(r)].data()) + at, bytes);
      });
  }
  return data;
}

TEST(Chunks, TogetherGiveTheWhole) {
  constexpr std::int64_t kRun = Chunks::kLeast / 4;
  for (std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, kRun, kRun + 1, 3 * kRun - 2})
    for (int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(::testing::Message() << count << " elements, " << ranks << " ranks");
      const int sum = ranks * (ranks + 1) / 2, root = ranks - 1;
      const auto reduced = in_chunks(Kind::all_reduce, count, ranks, 0),
                 sent = in_chunks(Kind::broadcast, count, ranks, root),
                 gathered = in_chunks(Kind::all_gather, count, ranks, 0),
                 scattered = in_chunks(Kind::reduce_scatter, count, ranks, 0);
      int wrong = 0;
      for (int r = 0; r < ranks; ++r) {
        const Share share = share_of(count, ranks, r);
        const auto mine = static_cast<std::size_t>(r);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(i);
          wrong += reduced[mine][at] != value(0, i) * sum;
          wrong += sent[mine][at] != value(root, i);
          const bool own = i >= share.first && i < share.first + share.count;
          wrong += own && scattered[mine][at] != value(0, i) * sum;
          for (int s = 0; own && s < ranks; ++s) wrong += gathered[std::size_t(s)][at] != value(r, i);
        }
      }
      EXPECT_EQ(wrong, 0);
    }
}

TEST(Chunks, LargeBuffersHaveManyOfTheMostBytes) {
  const Collective c{.kind = Kind::all_reduce, .count = 16 << 20};
  EXPECT_EQ(Chunks(c, 0, 4).number(), 16);
  EXPECT_EQ(Chunks(c, 0, 4).elements(0) * 4, Chunks::kMax);
  const Collective more{.kind = Kind::all_reduce, .count = (32 << 20) + 1};
  EXPECT_EQ(Chunks(more, 0, 4).number(), 33);
  EXPECT_EQ(Chunks(more, 0, 4).elements(32), 1);
}

}  // namespace
}  // namespace headroom
