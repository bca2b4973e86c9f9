#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

#include "inject/records.h"

namespace headroom::inject {

// Takes the records of a process one by one, in any order, in bounded memory: totals of everything, and the
// events of a window. Not safe for several threads at once.
class Aggregator {
 public:
  explicit Aggregator(const WindowRule& rule = {}) : rule_(rule) {}

  // A time of 0 means that it was lost: the record is counted and kept nowhere else.
  struct Times {
    std::int64_t begin_ns = 0, end_ns = 0;
  };
  struct StreamWork : Times {
    std::uint32_t device = 0, stream = 0, correlation = 0;
    std::uint64_t graph_node = 0;
  };
  // `launch` without a name; `name` as the compiler wrote it.
  void kernel(std::string_view name, What launch, const StreamWork& work);
  // A launch of a graph as a whole. Graphs are numbered in the order in which they come.
  void graph(std::uint32_t id, const StreamWork& work);
  void copy(std::uint8_t copy_kind, bool pinned, std::int64_t bytes, const StreamWork& work);
  // A call of the driver inside a call of the runtime has the same correlation: they are one call.
  void call(std::string_view name, bool of_driver, std::uint64_t thread, std::uint32_t correlation,
            const Times& times);
  // `mark`: see operator_mark.
  void range(std::string_view name, std::uint64_t thread, const Times& times, std::int64_t mark = 0);

  // Kernels of a graph belong to the range in which their node was made; an instantiated graph has copies of
  // the nodes.
  void node_created(std::uint64_t node, std::string_view range);
  void node_cloned(std::uint64_t node, std::uint64_t original);

  // Counters of all passes, before the first launch is counted.
  void set_counters(std::vector<std::string> counters) { counters_ = std::move(counters); }
  // Adds values to the counters from `first` on. `size` has no names.
  void count(std::string_view kernel, std::string_view range, CountedKernel size, std::size_t first,
             std::span<const double> values);

  void add_dropped(std::int64_t records) { header_.dropped += records; }
  void add_own_cost(std::int64_t ns) { header_.own_cost_ns += ns; }
  void note(std::string text);
  Header& header() { return header_; }

  void finish();  // after the last record of a process that ends by itself
  ProcessRecord record() const;

  struct Chunk {  // events that leave the window together
    std::vector<Event> events;
    std::int64_t latest_ns = 0;
  };
  // The record at this moment: taking it is fast, because full chunks are shared. Others may add records
  // while it is being written.
  struct Snapshot {
    ProcessRecord rest;  // without events
    std::vector<std::shared_ptr<const Chunk>> full;
    std::vector<Event> last;
    // A whole file at once, under another name until it is complete. False if it could not be written.
    bool write(const std::string& path) const;
  };
  Snapshot snapshot() const;
  bool write(const std::string& path) const { return snapshot().write(path); }

 private:
  static constexpr std::size_t kChunk = 4096;
  static constexpr std::size_t kMaxNames = 1 << 16, kMaxWhats = 1 << 16, kMaxLanes = 1 << 12;
  static constexpr std::size_t kMaxNodes = 1 << 20, kMaxCounted = 1 << 14;

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct BytesHash {
    template <class T>
    std::size_t operator()(const T& value) const {
      return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&value), sizeof value});
    }
  };
  struct PendingCalls {  // of one thread: those of the driver that may lie inside one of the runtime
    std::vector<Event> driver;
    std::uint32_t last_runtime = 0;
  };

  std::uint32_t name_id(std::string_view text);
  std::uint32_t searched_name(std::string_view text);
  std::uint32_t what_id(const What& what);
  std::uint32_t searched_what(const What& what);
  std::uint32_t lane_id(const Lane& lane);
  std::size_t counted_id(const CountedKernel& kernel);
  bool has_time(const Times& times, std::uint32_t what);
  void add(const Event& event);
  void keep(const Event& event);

  WindowRule rule_;
  Header header_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> name_ids_;
  // CUPTI keeps one text for each kernel and call, so that most are known by their address, and most launches
  // by a few of their numbers. A place holds the last that fell on it.
  struct KnownText {
    const char* at = nullptr;
    std::uint32_t id = 0;
  };
  static constexpr std::size_t kPlaces = 2048;
  std::array<KnownText, kPlaces> known_texts_ = {};
  std::array<std::uint32_t, kPlaces> known_whats_ = {};  // plus one
  std::array<std::uint32_t, 2> last_lane_ = {};          // plus one; of threads, of streams
  std::vector<What> whats_;
  std::unordered_map<What, std::uint32_t, BytesHash> what_ids_;
  std::vector<Total> totals_;
  std::vector<Lane> lanes_;
  std::unordered_map<Lane, std::uint32_t, BytesHash> lane_ids_;
  std::vector<PendingCalls> pending_;                            // by lane
  std::unordered_map<std::uint64_t, std::uint32_t> node_range_;  // names, plus one
  std::vector<std::uint32_t> graphs_;                            // ids of those that are numbered
  std::deque<std::shared_ptr<Chunk>> window_;
  std::int64_t kept_ = 0, first_ns_ = 0, latest_ns_ = 0;
  std::vector<std::string> notes_, counters_;
  std::vector<CountedKernel> counted_;
  std::unordered_map<CountedKernel, std::size_t, BytesHash> counted_ids_;
  std::vector<double> counts_;
};

}  // namespace headroom::inject
