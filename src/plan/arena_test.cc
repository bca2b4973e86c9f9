#include "plan/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "base/random.h"
#include "device/device.h"
#include "plan/occupancy.h"

namespace headroom {
namespace {

std::vector<Lifetime> random_pieces(std::uint64_t seed, std::size_t count, int steps, int longest) {
  const Philox random(seed);
  auto draw = [&](std::size_t i, std::uint64_t part, int bound) {
    return static_cast<int>(random.below(4 * i + part, static_cast<std::uint64_t>(bound)));
  };
  std::vector<Lifetime> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    const int first = draw(i, 0, steps);
    const std::size_t bytes = draw(i, 1, 8) == 0 ? 0 : static_cast<std::size_t>(draw(i, 2, 100'000));
    pieces.push_back({bytes, first, std::min(steps - 1, first + draw(i, 3, longest))});
  }
  return pieces;
}

bool alive_together(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }
bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::size_t peak(const std::vector<Lifetime>& pieces, int steps) {
  std::size_t most = 0;
  for (int step = 0; step < steps; ++step) {
    std::size_t live = 0;
    for (const Lifetime& p : pieces)
      if (p.first <= step && step <= p.last) live += align_up(p.bytes);
    most = std::max(most, live);
  }
  return most;
}

TEST(Arena, PiecesAliveTogetherNeverOverlap) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    constexpr int kSteps = 30;
    std::vector<Lifetime> pieces =
        random_pieces(seed, 1 + seed % 60, kSteps, 1 + static_cast<int>(seed % 25));
    const std::size_t total = place(pieces);
    std::size_t sum = 0, reached = 0;
    for (std::size_t a = 0; a < pieces.size(); ++a) {
      sum += align_up(pieces[a].bytes);
      reached = std::max(reached, pieces[a].offset + align_up(pieces[a].bytes));
      EXPECT_EQ(pieces[a].offset % kAlignment, 0u);
      for (std::size_t b = 0; b < a; ++b)
        ASSERT_FALSE(alive_together(pieces[a], pieces[b]) && overlap(pieces[a], pieces[b]))
            << "seed " << seed << ", pieces " << a << " and " << b;
    }
    EXPECT_EQ(total, reached) << "seed " << seed;
    EXPECT_LE(total, sum) << "seed " << seed;
    EXPECT_GE(total, peak(pieces, kSteps)) << "seed " << seed;
  }
}

// The definition: tries every possible address, lowest first.
std::size_t lowest_by_trying(const Lifetime& piece, const std::vector<Lifetime>& placed) {
  std::vector<std::size_t> candidates = {0};
  for (const Lifetime& p : placed) candidates.push_back(p.offset + align_up(p.bytes));
  std::ranges::sort(candidates);
  for (std::size_t offset : candidates) {
    Lifetime tried = piece;
    tried.offset = offset, tried.bytes = align_up(piece.bytes);
    if (std::ranges::none_of(placed, [&](Lifetime p) {
          p.bytes = align_up(p.bytes);
          return alive_together(tried, p) && overlap(tried, p);
        }))
      return offset;
  }
  return candidates.back();
}

TEST(Arena, EveryPieceIsInItsLowestGap) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<Lifetime> pieces =
        random_pieces(seed, 20 + 3 * seed, 1 + static_cast<int>(seed * 7 % 90), 1 + static_cast<int>(seed));
    place(pieces);
    std::ranges::stable_sort(pieces, std::greater<>(), &Lifetime::bytes);
    std::vector<Lifetime> placed;
    for (const Lifetime& piece : pieces) {
      if (piece.bytes == 0) continue;
      ASSERT_EQ(piece.offset, lowest_by_trying(piece, placed)) << "seed " << seed;
      placed.push_back(piece);
    }
  }
}

// Few pieces are placed by a list, many by a tree.
TEST(Arena, TheTreeAgreesWithTheList) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<Lifetime> pieces = random_pieces(seed, 1 + seed % 90, 40, 1 + static_cast<int>(seed % 30));
    place(pieces);
    std::ranges::stable_sort(pieces, std::greater<>(), &Lifetime::bytes);
    Occupancy tree(40);
    for (const Lifetime& p : pieces) {
      const std::size_t bytes = align_up(p.bytes);
      if (bytes == 0) continue;
      const std::size_t offset = tree.lowest_gap(p.first, p.last, bytes);
      ASSERT_EQ(offset, p.offset) << "seed " << seed;
      tree.take(p.first, p.last, {offset, offset + bytes});
    }
  }
}

TEST(Arena, ASecondPieceTakesThePlaceOfADeadOne) {
  std::vector<Lifetime> pieces = {{1024, 0, 1}, {1024, 2, 3}, {512, 1, 2}};
  EXPECT_EQ(place(pieces), 1536u);
  EXPECT_EQ(pieces[0].offset, pieces[1].offset);
  EXPECT_EQ(pieces[2].offset, 1024u);
}

TEST(Arena, TheLowestGapThatHoldsAPieceIsTaken) {
  std::vector<Lifetime> pieces = {{4096, 0, 0}, {2048, 0, 9}, {1024, 1, 9}, {512, 1, 1}};
  EXPECT_EQ(place(pieces), 6144u);
  EXPECT_EQ(pieces[2].offset, 0u) << "below the second piece, where the first was";
  EXPECT_EQ(pieces[3].offset, 1024u);
}

TEST(Arena, NothingNeedsNothing) {
  std::vector<Lifetime> none;
  EXPECT_EQ(place(none), 0u);
  std::vector<Lifetime> empty = {{0, 0, 5}};
  EXPECT_EQ(place(empty), 0u);
}

// Processor time: a busy machine does not disturb it.
double seconds_to_place(std::vector<Lifetime> pieces) {
  // Counts this thread only: idle threads of earlier parallel regions may still spin.
  auto now = [] {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  EXPECT_GT(place(pieces), 0u);
  return now() - start;
}

// About 10,000 layers: activations live until their gradients are made, most other values die at once.
std::vector<Lifetime> pieces_of_layers(int layers) {
  std::vector<Lifetime> pieces;
  for (int layer = 0; layer < layers; ++layer) {
    const auto bytes = static_cast<std::size_t>(1000 + layer * 7919 % 50'000);
    pieces.push_back({bytes, layer, 2 * layers - 1 - layer});
    pieces.push_back({bytes / 2, 2 * layers - 1 - layer, 2 * layers - layer});
  }
  return pieces;
}

TEST(TimingArena, PlacesTwentyThousandPiecesInASecond) {
  EXPECT_LT(seconds_to_place(pieces_of_layers(10'000)), 1);
}

// Lifetimes in random order, which no network has: half a second, or on a slow machine a few times what
// pieces of a network take there.
TEST(TimingArena, PlacesTwentyThousandRandomPiecesInASecond) {
  const double ordered = seconds_to_place(pieces_of_layers(10'000));
  EXPECT_LT(seconds_to_place(random_pieces(1, 20'000, 20'000, 20'000)), std::max(1.0, 10 * ordered));
}

}  // namespace
}  // namespace headroom
