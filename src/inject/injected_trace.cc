#include "inject/injected_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/demangle.h"
#include "inject/range_paths.h"
#include "inject/step_spans.h"
#include "profile/call_names.h"

namespace headroom::inject {
namespace {

std::vector<Trace::Lane> lanes_of(const ProcessRecord& process) {
  std::set<std::uint32_t> devices;
  for (const Lane& lane : process.lanes)
    if (lane.is_stream != 0) devices.insert(lane.device);
  std::vector<Trace::Lane> lanes;
  for (const Lane& lane : process.lanes) {
    const bool is_main = std::int64_t(lane.id) == process.header.pid;
    std::string name = lane.is_stream != 0 ? fmt::format("stream {}", lane.id)
                       : is_main           ? "main"
                                           : fmt::format("thread {}", lane.id);
    if (lane.is_stream != 0 && devices.size() > 1) name = fmt::format("GPU {} {}", lane.device, name);
    const std::int64_t thread = lane.is_stream != 0 ? 0 : std::int64_t(lane.id);
    lanes.push_back({std::move(name), lane.is_stream != 0, process.header.rank, thread});
  }
  return lanes;
}

class TraceBuilder {
 public:
  TraceBuilder(const ProcessRecord& process, std::int64_t origin_ns)
      : process_(process), paths_(process), shift_ns_(process.header.clock_to_epoch_ns - origin_ns) {
    trace_.lanes = lanes_of(process);
    trace_.own_cost_s = 1e-9 * double(process.header.own_cost_ns);
    trace_.dropped = process.header.dropped + process.header.untimed;
    trace_.notes = process.notes;
    for (const What& what : process.whats) names_.push_back(what.kind == Kind::copy ? 0 : name_of(what));
  }

  Trace build() {
    for (const Event& event : process_.events) add(event);
    const auto begin = [](const auto& event) { return event.begin_ns; };
    std::ranges::stable_sort(trace_.kernels, {}, begin);
    std::ranges::stable_sort(trace_.copies, {}, begin);
    std::ranges::stable_sort(trace_.calls, {}, begin);
    place_spans(trace_);  // ranges arrive when they end
    return std::move(trace_);
  }

 private:
  // Many launches share a name.
  int name_of(const What& what) {
    const auto [it, is_new] = known_.try_emplace({what.kind, what.name});
    if (!is_new) return it->second;
    const std::string& text = process_.names[what.name];
    return it->second = trace_.name_id(what.kind == Kind::kernel ? demangled(text.c_str())
                                       : what.kind == Kind::call ? call_without_version(text)
                                                                 : text);
  }

  template <class Made>
  Made timed(const Event& event) const {
    Made made;
    made.begin_ns = event.begin_ns + shift_ns_, made.end_ns = event.end_ns + shift_ns_;
    made.lane = int(event.lane);
    if constexpr (requires { made.correlation; }) made.correlation = event.correlation;
    if constexpr (requires { made.graph_node; }) made.graph_node = event.graph_node;
    return made;
  }

  int range_of(const Event& event) {
    const std::string* path = nullptr;
    if (event.range != 0) path = &process_.names[event.range - 1];
    // The range around a graph's launch says nothing about its nodes.
    else if (event.graph_node == 0 || process_.whats[event.what].grid[0] == 0)
      path = paths_.of_call(event.correlation);
    if (path == nullptr) return -1;
    const auto [it, is_new] = range_names_.try_emplace(path);
    if (is_new) it->second = trace_.name_id(*path);
    return it->second;
  }

  void add(const Event& event) {
    const What& what = process_.whats[event.what];
    switch (what.kind) {
      case Kind::kernel:
        return add_kernel(event, what);
      case Kind::copy: {
        auto copy = timed<Trace::Copy>(event);
        copy.kind = static_cast<Trace::CopyKind>(what.copy_kind);
        copy.pinned = what.pinned != 0, copy.bytes = event.bytes, copy.range = range_of(event);
        trace_.copies.push_back(copy);
        return;
      }
      case Kind::call: {
        auto call = timed<Trace::Call>(event);
        call.name = names_[event.what];
        trace_.calls.push_back(call);
        return;
      }
      case Kind::range: {
        auto span = timed<Trace::Span>(event);
        span.name = names_[event.what];
        trace_.spans.push_back(span);
        return;
      }
    }
  }

  void add_kernel(const Event& event, const What& what) {
    auto kernel = timed<Trace::Kernel>(event);
    kernel.name = names_[event.what], kernel.range = range_of(event);
    std::ranges::copy(what.grid, kernel.grid.begin());
    std::ranges::copy(what.block, kernel.block.begin());
    std::ranges::copy(what.cluster, kernel.cluster.begin());
    kernel.registers = what.registers, kernel.local = what.local;
    kernel.static_shared = what.static_shared, kernel.dynamic_shared = what.dynamic_shared;
    kernel.shared_executed = what.shared_executed;
    trace_.kernels.push_back(kernel);
  }

  const ProcessRecord& process_;
  RangePaths paths_;
  std::int64_t shift_ns_;
  Trace trace_;
  std::map<std::pair<Kind, std::uint32_t>, int> known_;
  std::unordered_map<const std::string*, int> range_names_;
  std::vector<int> names_;  // of each of the process's `whats`
};

}  // namespace

std::int64_t origin_of(const std::vector<ProcessRecord>& processes) {
  std::int64_t origin_ns = INT64_MAX;
  for (const ProcessRecord& process : processes)
    for (const Event& event : process.events)
      origin_ns = std::min(origin_ns, event.begin_ns + process.header.clock_to_epoch_ns);
  return origin_ns;
}

Trace trace_of(const std::vector<ProcessRecord>& processes) {
  const std::int64_t origin_ns = origin_of(processes);
  Trace all;
  for (const ProcessRecord& process : processes) append(all, TraceBuilder(process, origin_ns).build());
  return all;
}

}  // namespace headroom::inject
