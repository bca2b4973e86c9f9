#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/spans.h"

namespace headroom {

// Everything a profiled run recorded, as plain data: spans of host threads, kernels, copies and calls of a
// device. Every table and trace file of a profile is a function of it, on any machine. Times are nanoseconds
// since the start of the trace. `step` is a step of the recorded plan; -1: of none.
struct Trace {
  struct Lane {
    std::string name;  // "main", "loader 1", "stream 7"
    bool is_stream = false;
    int rank = 0;
    std::int64_t system_id = 0;  // of a thread
    bool operator==(const Lane&) const = default;
  };

  struct Interval {
    std::int64_t begin_ns = 0, end_ns = 0;
    double seconds() const { return 1e-9 * double(end_ns - begin_ns); }
    bool operator==(const Interval&) const = default;
  };

  struct Span : Interval {
    int lane = 0, name = 0, step = -1, depth = 0;
    SpanKind kind = SpanKind::user;
    bool operator==(const Span&) const = default;
  };

  struct Kernel : Interval {
    int lane = 0, name = 0, step = -1;
    std::int64_t queued_ns = 0, submitted_ns = 0;  // 0: not known
    // A grid of 0: a graph as a whole, which stands here in place of its kernels.
    std::array<int, 3> grid = {1, 1, 1}, block = {1, 1, 1}, cluster = {1, 1, 1};
    int registers = 0;                                                        // per thread
    std::int64_t static_shared = 0, dynamic_shared = 0, shared_executed = 0;  // bytes of a block
    std::int64_t local = 0;        // bytes of a thread: spilled registers and arrays
    std::int64_t correlation = 0;  // ties it to the call that launched it
    std::uint64_t graph_node = 0;  // 0: launched by itself
    int range = -1;                // the name of the program's own range that launched it; -1: of none
    bool whole_graph() const { return grid[0] == 0; }
    bool operator==(const Kernel&) const = default;
  };

  enum class CopyKind { host_to_device, device_to_host, device_to_device, peer, fill };
  struct Copy : Interval {
    int lane = 0, step = -1;
    CopyKind kind = CopyKind::host_to_device;
    std::int64_t bytes = 0;
    bool pinned = true;  // the host's memory; false: pageable
    std::int64_t correlation = 0;
    std::uint64_t graph_node = 0;
    int range = -1;
    bool operator==(const Copy&) const = default;
  };

  // The driver moves pages of managed memory when host or device touches them.
  enum class PageEvent { to_device, to_host, device_faults, host_faults };
  struct Pages : Interval {
    int lane = 0;
    PageEvent kind = PageEvent::to_device;
    std::int64_t bytes = 0, faults = 0;
    bool operator==(const Pages&) const = default;
  };

  // A call of the CUDA runtime or driver.
  struct Call : Interval {
    int lane = 0, name = 0;
    std::int64_t correlation = 0;
    bool operator==(const Call&) const = default;
  };

  // The steps that the tables are about: after warm-up, as they really run.
  struct Window : Interval {
    int rank = 0, steps = 0;
    bool captured = false;
    bool operator==(const Window&) const = default;
  };

  std::vector<std::string> names;  // what the numbers in `name` stand for
  std::vector<Lane> lanes;
  std::vector<Span> spans;      // by lane, in order of their begin: an outer span before its inner ones
  std::vector<Kernel> kernels;  // in order of their begin; so are copies and calls
  std::vector<Copy> copies;
  std::vector<Call> calls;
  std::vector<Pages> pages;
  std::vector<Window> windows;     // evaluations and short batches lie between those of a rank
  double own_cost_s = 0;           // spent on recording
  std::int64_t dropped = 0;        // events that found no room
  std::vector<std::string> notes;  // what could not be recorded, and why

  int name_id(std::string_view text);  // adds it if it is new
  const std::string& text(int name) const { return names.at(static_cast<std::size_t>(name)); }
  bool operator==(const Trace&) const = default;
};

std::string_view name_of(Trace::CopyKind kind);   // "host to device", …
std::string_view name_of(Trace::PageEvent kind);  // "pages to device", …

Json to_json(const Trace& trace);
// Rejects, by name: a file that is not a trace, and fields that are missing or wrong.
Trace trace_from_json(const Json& json, const std::string& origin);

void shift(Trace& trace, std::int64_t ns);  // all its times

// A kernel may be started early, to wait on the GPU for the one before. Of kernels of one step on one stream,
// each begins where the one before ends: until then it only waited. The kernels are in order of their begin.
void leave_out_early_starts(std::vector<Trace::Kernel>& kernels);

// Adds the events of another trace on the same clock: of the device, or of another rank. A thread that both
// know, by its system's number, stays one lane.
void append(Trace& all, const Trace& other);

// What spans::stop() returned, on a clock that starts at `origin_ns`.
void add_spans(Trace& trace, const std::vector<ThreadSpans>& threads, std::int64_t origin_ns, int rank = 0);

}  // namespace headroom
