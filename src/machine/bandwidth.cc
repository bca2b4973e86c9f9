#include "machine/bandwidth.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "base/error.h"
#include "machine/timing.h"
#include "machine/vector_loops.h"

namespace headroom {
namespace {

constexpr std::int64_t kLargePage = 2 << 20;

// Arrays of one stream start this far beyond a multiple of their size. At equal distances modulo 4 KiB, loads
// would wait for stores to other arrays with the same low address bits.
constexpr std::int64_t kSkew = 2 * kStreamBlock + 64;

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

struct MemoryStream {
  const char* name;
  int arrays;                                                // the working set is divided among this many
  int bytes_issued;                                          // read plus written, per byte of one array
  std::function<void(char* part, std::int64_t bytes)> pass;  // bytes: of one array
};

char* array(char* part, int index, std::int64_t bytes) { return part + index * (bytes + kSkew); }

// memset and memcpy come from the C library, which chooses its own instructions and vector width.
std::vector<MemoryStream> library_streams() {
  return {{"clear", 1, 1, [](char* p, std::int64_t n) { std::memset(p, 0, static_cast<std::size_t>(n)); }},
          {"copy", 2, 2,
           [](char* p, std::int64_t n) { std::memcpy(array(p, 1, n), p, static_cast<std::size_t>(n)); }}};
}

std::vector<MemoryStream> streams_of(const VectorLoops& loops) {
  return {
      {"read", 1, 1, [&](char* p, std::int64_t n) { loops.read(p, n); }},
      {"write", 1, 1, [&](char* p, std::int64_t n) { loops.write(p, n); }},
      {"update", 1, 2, [&](char* p, std::int64_t n) { loops.update(p, n); }},
      {"triad", 3, 3, [&](char* p, std::int64_t n) { loops.triad(p, array(p, 1, n), array(p, 2, n), n); }}};
}

}  // namespace

StreamArena::StreamArena(int threads, std::int64_t bytes_per_thread)
    : threads_(threads), bytes_per_thread_(round_up(bytes_per_thread, kStreamBlock)) {
  // Parts are whole large pages plus one line apart, so that equal offsets in two threads' parts fall into
  // different sets of a shared cache.
  stride_ = round_up(bytes_per_thread_ + 3 * kSkew, kLargePage) + kStreamBlock;
  mapped_ = round_up(threads * stride_, kLargePage) + kLargePage;
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(mapped_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("out of memory: {} bytes to measure the bandwidth were refused", mapped_);
  data_ = static_cast<char*>(memory);
  ::madvise(memory, static_cast<std::size_t>(mapped_), MADV_HUGEPAGE);  // refused: small pages are fine
  team_seconds(threads, Clock::wall, [&](int t) {
    std::memset(part(t), 0, static_cast<std::size_t>(bytes_per_thread_ + 3 * kSkew));
  });
}

StreamArena::~StreamArena() { ::munmap(data_, static_cast<std::size_t>(mapped_)); }

StreamRate stream_rate(const StreamArena& arena, std::int64_t bytes_per_thread, Clock clock, double seconds) {
  std::vector<MemoryStream> streams = library_streams();
  for (const VectorLoops& loops : vector_loops())
    for (MemoryStream& stream : streams_of(loops)) streams.push_back(std::move(stream));

  const std::int64_t set = std::min(bytes_per_thread, arena.bytes_per_thread());
  StreamRate best;
  for (const MemoryStream& stream : streams) {
    const std::int64_t each =
        std::max<std::int64_t>(set / stream.arrays / kStreamBlock, 1) * kStreamBlock;  // of one array
    const double pass =
        undisturbed_seconds(seconds / static_cast<double>(streams.size()), clock, [&](std::int64_t passes) {
          return team_seconds(arena.threads(), clock, [&](int t) {
            for (std::int64_t p = 0; p < passes; ++p) stream.pass(arena.part(t), each);
          });
        });
    const double rate = static_cast<double>(each) * stream.bytes_issued * arena.threads() / pass;
    best.bytes_per_s = std::max(best.bytes_per_s, rate);
    double& of_kind = best.by_stream[stream.name];
    of_kind = std::max(of_kind, rate);
  }
  return best;
}

}  // namespace headroom
