#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::inject {

// What the injection library records in a process that is not ours, as plain data. The library is loaded into
// programs that know nothing of headroom: this file and the aggregator need the standard library alone.

// The parent names the folder for the files, and the rule of the window, in the environment.
inline constexpr const char* kFolderVariable = "HEADROOM_INJECT_FOLDER";
inline constexpr const char* kWindowVariable = "HEADROOM_INJECT_WINDOW";
// Counters to count instead of recording times, by name, with commas between them.
inline constexpr const char* kCountersVariable = "HEADROOM_INJECT_COUNTERS";
// "whole": a launch of a graph is one record, without its kernels.
inline constexpr const char* kGraphsVariable = "HEADROOM_INJECT_GRAPHS";
inline constexpr const char* kFileEnding = ".process";

enum class Kind : std::uint8_t { kernel, copy, call, range };

// What many events have in common. Copies have no name.
struct What {
  Kind kind = Kind::kernel;
  std::uint8_t copy_kind = 0;  // as Trace::CopyKind
  std::uint8_t pinned = 1, unused = 0;
  std::uint32_t name = 0;
  // A grid of 0: a graph as a whole, recorded as if it were a kernel.
  std::int32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  std::int32_t registers = 0, static_shared = 0, dynamic_shared = 0, shared_executed = 0, local = 0;
  bool operator==(const What&) const = default;
};

// Over the whole run, inside and outside the window.
struct Total {
  std::int64_t count = 0, total_ns = 0, min_ns = 0, max_ns = 0, bytes = 0;
  std::int64_t untimed = 0;  // records without a time; `count` does not have them
  bool operator==(const Total&) const = default;
};

struct Lane {
  std::uint32_t is_stream = 0, device = 0;
  std::uint64_t id = 0;  // of the stream, or the system's number of the thread
  bool operator==(const Lane&) const = default;
};

struct Event {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t bytes = 0;        // of a copy; the mark of a range, see below
  std::uint64_t graph_node = 0;  // 0: launched by itself
  std::uint32_t what = 0, correlation = 0, lane = 0;
  std::uint32_t range = 0;  // of a graph's node: the number of the range's name, plus one
  bool operator==(const Event&) const = default;
};

// PyTorch marks operators with numbers: "aten::conv2d, seq = 3, op_id = 17". Cuts them off, and returns the
// sequence number plus one; -1: an operator without one; 0: not an operator. It stands in Event::bytes.
std::int64_t operator_mark(std::string& name);

// Counters add up over launches of one kernel, from one range, with one size.
struct CountedKernel {
  std::uint32_t name = 0, range = 0;  // range: the number of the path's name, plus one; 0: of none
  std::int32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};  // 0: of several sizes
  bool operator==(const CountedKernel&) const = default;
};

// How the counting went.
struct CountingFacts {
  std::int64_t launches = 0, counted = 0;          // of kernels and graphs
  std::int64_t windows = 0, lost_windows = 0;      // lost: ranges and launches did not match
  std::int64_t exchanges = 0, other_contexts = 0;  // launches that are never counted
  std::int64_t warp_slots = 0;                     // of a multiprocessor; 0: unknown
  bool operator==(const CountingFacts&) const = default;
};

// The fixed part of a file. Counts say how many of each follow: names, whats with their totals, lanes,
// events, notes, counters, and for each counted kernel a number for each counter.
struct Header {
  char magic[8] = {'h', 'r', 'i', 'n', 'j', 'e', 'c', 't'};
  std::uint32_t version = 2;
  std::int32_t pid = 0, rank = -1;  // -1: no launcher numbered the process
  std::uint32_t finished = 0;       // 0: the process has not ended, or ended without a word
  std::int64_t clock_to_epoch_ns = 0;
  std::int64_t recorded = 0, untimed = 0, dropped = 0, left_out = 0;  // records; left_out: of the window
  std::int64_t own_cost_ns = 0;
  std::uint64_t names = 0, whats = 0, lanes = 0, events = 0, notes = 0, counters = 0, counted = 0;
  CountingFacts counting;
  bool operator==(const Header&) const = default;
};

static_assert(sizeof(What) == 64 && sizeof(Event) == 48 && sizeof(Total) == 48 && sizeof(Lane) == 16 &&
              sizeof(CountedKernel) == 32);

struct ProcessRecord {
  Header header;
  std::vector<std::string> names;
  std::vector<What> whats;
  std::vector<Total> totals;  // one for each of `whats`
  std::vector<Lane> lanes;
  std::vector<Event> events;
  std::vector<std::string> notes;
  std::vector<std::string> counters;   // as counter_key names them: "1:cycles"; "1:launches" of that pass
  std::vector<CountedKernel> counted;  // empty: nothing was counted
  std::vector<double> counts;          // sums: one for each counter of the first kernel, then of the next
  bool operator==(const ProcessRecord&) const = default;
};

// The events that are kept one by one: the first or the last of the run, by number and, if given, by time.
struct WindowRule {
  bool first = false;
  std::int64_t max_events = 400'000, max_ns = 0;  // max_ns 0: by number alone
  bool operator==(const WindowRule&) const = default;
};
std::string to_text(const WindowRule& rule);  // for the environment
WindowRule window_rule(const char* text);     // the default for null and for text it does not understand

}  // namespace headroom::inject
