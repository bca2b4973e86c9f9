#include "inject/range_paths.h"

#include <algorithm>
#include <tuple>

#include "inject/live_ranges.h"

namespace headroom::inject {

struct RangePaths::Range {
  std::uint32_t lane;
  std::int64_t begin_ns, end_ns, mark;  // mark: see operator_mark
  const std::string* name;
};

struct RangePaths::Open {
  std::int64_t end_ns;
  int path;         // with operators, where nothing else is around them
  int without_ops;  // -1: none
  bool in_backward;
};

namespace {

template <class Opened>
void close_until(std::vector<Opened>& open, std::int64_t ns) {
  while (!open.empty() && open.back().end_ns <= ns) open.pop_back();
}

}  // namespace

RangePaths::RangePaths(const ProcessRecord& process) : process_(process) {
  std::vector<Range> ranges;
  for (const Event& event : process.events)
    if (const What& what = process.whats[event.what]; what.kind == Kind::range)
      ranges.push_back({event.lane, event.begin_ns, event.end_ns, event.bytes, &process.names[what.name]});
  std::ranges::stable_sort(ranges, {},
                           [](const Range& r) { return std::tuple(r.lane, r.begin_ns, -r.end_ns); });
  find_forward_paths(ranges);
  name_calls(ranges);
}

const std::string* RangePaths::of_call(std::uint32_t correlation) const {
  const auto it = by_call_.find(correlation);
  return it == by_call_.end() ? nullptr : &paths_[static_cast<std::size_t>(it->second)];
}

int RangePaths::path_id(int outer, const std::string& name) {
  const auto [it, is_new] = ids_.try_emplace({outer, name}, int(paths_.size()));
  if (is_new) paths_.push_back(outer < 0 ? name : paths_[static_cast<std::size_t>(outer)] + " > " + name);
  return it->second;
}

RangePaths::Open RangePaths::opened(const std::vector<Open>& around, const Range& range) {
  const int outer = around.empty() ? -1 : around.back().without_ops;
  const bool in_backward = (!around.empty() && around.back().in_backward) || is_backward_range(*range.name);
  if (range.mark == 0) {
    const int path = path_id(outer, *range.name);
    return {range.end_ns, path, path, in_backward};
  }
  if (const auto it = forward_.find(range.mark);
      it != forward_.end() && (in_backward || it->second.lane != range.lane)) {
    const int path = path_id(it->second.path, "backward");
    return {range.end_ns, path, path, in_backward};
  }
  if (outer >= 0) return {range.end_ns, outer, outer, in_backward};
  return {range.end_ns, around.empty() ? path_id(-1, *range.name) : around.back().path, -1, in_backward};
}

// Operators without a gradient have the number of the next one that has one, so of several with a sequence
// number the last is that of the forward pass. The backward pass runs later: on another thread, or within its
// engine's ranges.
void RangePaths::find_forward_paths(const std::vector<Range>& ranges) {
  std::unordered_map<std::int64_t, Forward> found;
  std::vector<Open> open;
  std::uint32_t lane = 0;
  for (const Range& range : ranges) {
    if (range.lane != lane) open.clear();
    lane = range.lane;
    close_until(open, range.begin_ns);
    const int around = open.empty() ? -1 : open.back().without_ops;
    open.push_back(opened(open, range));
    if (range.mark <= 0 || open.back().in_backward) continue;
    const auto it = found.try_emplace(range.mark, Forward{lane, range.begin_ns, around}).first;
    if (it->second.lane == lane)
      it->second.path = around;
    else if (range.begin_ns < it->second.first_ns)
      it->second = {lane, range.begin_ns, around};
  }
  std::erase_if(found, [](const auto& forward) { return forward.second.path < 0; });
  forward_ = std::move(found);
}

void RangePaths::name_calls(const std::vector<Range>& ranges) {
  std::vector<const Event*> calls;
  for (const Event& event : process_.events)
    if (process_.whats[event.what].kind == Kind::call) calls.push_back(&event);
  std::ranges::stable_sort(calls, {}, [](const Event* e) { return std::pair(e->lane, e->begin_ns); });
  std::vector<Open> open;
  std::uint32_t lane = 0;
  std::size_t next = 0;
  for (const Event* call : calls) {
    if (call->lane != lane) open.clear();
    lane = call->lane;
    for (; next < ranges.size() &&
           std::tie(ranges[next].lane, ranges[next].begin_ns) <= std::tie(call->lane, call->begin_ns);
         ++next) {
      if (ranges[next].lane != lane) continue;
      close_until(open, ranges[next].begin_ns);
      open.push_back(opened(open, ranges[next]));
    }
    close_until(open, call->begin_ns);
    if (!open.empty()) by_call_[call->correlation] = open.back().path;
  }
}

}  // namespace headroom::inject
