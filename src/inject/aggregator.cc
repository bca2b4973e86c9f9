#include "inject/aggregator.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace headroom::inject {

std::string to_text(const WindowRule& rule) {
  return (rule.first ? "first " : "last ") + std::to_string(rule.max_events) + " " +
         std::to_string(rule.max_ns);
}

WindowRule window_rule(const char* text) {
  WindowRule rule;
  char which[6] = {};
  if (text == nullptr ||
      std::sscanf(text, "%5s %" SCNd64 " %" SCNd64, which, &rule.max_events, &rule.max_ns) != 3)
    return {};
  rule.first = std::string_view(which) == "first";
  return rule;
}

std::int64_t operator_mark(std::string& name) {
  constexpr std::string_view kSequence = ", seq = ", kOperator = ", op_id = ";
  const std::size_t sequence = name.find(kSequence), number = name.find(kOperator);
  if (sequence == std::string::npos && number == std::string::npos) return 0;
  const std::int64_t mark =
      sequence == std::string::npos ? -1 : std::atoll(name.c_str() + sequence + kSequence.size()) + 1;
  name.resize(std::min(sequence, number));
  return mark;
}

namespace {

std::size_t place_of(const char* text) { return (reinterpret_cast<std::uintptr_t>(text) >> 3) * 2654435761u; }

std::size_t place_of(const What& what) {
  std::size_t mixed = what.name + 31 * static_cast<std::size_t>(what.kind);
  for (const std::int32_t part : {what.grid[0], what.grid[1], what.block[0], std::int32_t{what.copy_kind}})
    mixed = mixed * 0x9E3779B97F4A7C15u + static_cast<std::uint32_t>(part);
  return mixed ^ (mixed >> 29);
}

}  // namespace

std::uint32_t Aggregator::name_id(std::string_view text) {
  KnownText& known = known_texts_[place_of(text.data()) % kPlaces];
  if (known.at != nullptr && known.at == text.data() && names_[known.id] == text) return known.id;
  known = {text.data(), searched_name(text)};
  return known.id;
}

std::uint32_t Aggregator::what_id(const What& what) {
  std::uint32_t& known = known_whats_[place_of(what) % kPlaces];
  if (known != 0 && whats_[known - 1] == what) return known - 1;
  known = searched_what(what) + 1;
  return known - 1;
}

// Beyond the room for names and launches, the last place stands for all others.
std::uint32_t Aggregator::searched_name(std::string_view text) {
  if (const auto it = name_ids_.find(text); it != name_ids_.end()) return it->second;
  if (names_.size() >= kMaxNames) return kMaxNames - 1;
  const auto id = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(names_.size() == kMaxNames - 1 ? "all others" : text);
  name_ids_.emplace(text, id);
  return id;
}

std::uint32_t Aggregator::searched_what(const What& what) {
  if (const auto it = what_ids_.find(what); it != what_ids_.end()) return it->second;
  What known = what;
  if (whats_.size() >= kMaxWhats) {  // the launch, without its sizes
    known = {.kind = what.kind, .copy_kind = what.copy_kind, .pinned = what.pinned, .name = what.name};
    if (const auto it = what_ids_.find(known); it != what_ids_.end()) return it->second;
  }
  const auto id = static_cast<std::uint32_t>(whats_.size());
  whats_.push_back(known), totals_.emplace_back();
  what_ids_.emplace(known, id);
  return id;
}

std::uint32_t Aggregator::lane_id(const Lane& lane) {
  std::uint32_t& last = last_lane_[lane.is_stream];
  if (last != 0 && lanes_[last - 1] == lane) return last - 1;
  if (const auto it = lane_ids_.find(lane); it != lane_ids_.end()) {
    last = it->second + 1;
    return it->second;
  }
  if (lanes_.size() >= kMaxLanes) return kMaxLanes - 1;
  const auto id = static_cast<std::uint32_t>(lanes_.size());
  lanes_.push_back(lane);
  pending_.emplace_back();
  lane_ids_.emplace(lane, id);
  return id;
}

bool Aggregator::has_time(const Times& times, std::uint32_t what) {
  if (times.begin_ns > 0 && times.end_ns >= times.begin_ns) return true;
  ++header_.recorded, ++header_.untimed, ++totals_[what].untimed;
  return false;
}

void Aggregator::add(const Event& event) {
  Total& total = totals_[event.what];
  const std::int64_t ns = event.end_ns - event.begin_ns;
  total.min_ns = total.count == 0 ? ns : std::min(total.min_ns, ns);
  total.max_ns = std::max(total.max_ns, ns);
  total.total_ns += ns;
  if (whats_[event.what].kind == Kind::copy) total.bytes += event.bytes;
  ++total.count, ++header_.recorded;
  keep(event);
}

void Aggregator::keep(const Event& event) {
  if (first_ns_ == 0) first_ns_ = event.begin_ns;
  latest_ns_ = std::max(latest_ns_, event.end_ns);
  const bool full = kept_ >= rule_.max_events;
  const bool late = rule_.max_ns > 0 && event.begin_ns - first_ns_ > rule_.max_ns;
  if (rule_.first && (full || late)) {
    ++header_.left_out;
    return;
  }
  if (window_.empty() || window_.back()->events.size() == kChunk) {
    window_.push_back(std::make_shared<Chunk>());
    window_.back()->events.reserve(kChunk);
  }
  Chunk& newest = *window_.back();
  newest.events.push_back(event);
  newest.latest_ns = std::max(newest.latest_ns, event.end_ns);
  ++kept_;
  const auto leaves = [&](const Chunk& chunk) {
    return kept_ - std::int64_t(chunk.events.size()) >= rule_.max_events ||
           (rule_.max_ns > 0 && latest_ns_ - chunk.latest_ns > rule_.max_ns);
  };
  while (!rule_.first && window_.size() > 1 && leaves(*window_.front())) {
    kept_ -= std::int64_t(window_.front()->events.size());
    header_.left_out += std::int64_t(window_.front()->events.size());
    window_.pop_front();
  }
}

void Aggregator::kernel(std::string_view name, What launch, const StreamWork& work) {
  launch.kind = Kind::kernel, launch.name = name_id(name);
  const std::uint32_t what = what_id(launch);
  if (!has_time(work, what)) return;
  const auto node = work.graph_node == 0 ? node_range_.end() : node_range_.find(work.graph_node);
  add({.begin_ns = work.begin_ns,
       .end_ns = work.end_ns,
       .graph_node = work.graph_node,
       .what = what,
       .correlation = work.correlation,
       .lane = lane_id({1, work.device, work.stream}),
       .range = node == node_range_.end() ? 0 : node->second});
}

// Beyond the room for numbers, graphs share a name.
void Aggregator::graph(std::uint32_t id, const StreamWork& work) {
  constexpr std::size_t kMaxGraphs = 64;
  auto known = std::ranges::find(graphs_, id);
  if (known == graphs_.end() && graphs_.size() < kMaxGraphs) known = graphs_.insert(known, id);
  const std::string number = known == graphs_.end() ? "" : " " + std::to_string(known - graphs_.begin() + 1);
  StreamWork whole = work;
  whole.graph_node = id + 1;  // not 0: a graph was launched
  kernel("(graph" + number + ")", {.grid = {0, 0, 0}}, whole);
}

void Aggregator::copy(std::uint8_t copy_kind, bool pinned, std::int64_t bytes, const StreamWork& work) {
  const std::uint32_t what = what_id({.kind = Kind::copy, .copy_kind = copy_kind, .pinned = pinned});
  if (!has_time(work, what)) return;
  const auto node = work.graph_node == 0 ? node_range_.end() : node_range_.find(work.graph_node);
  add({.begin_ns = work.begin_ns,
       .end_ns = work.end_ns,
       .bytes = bytes,
       .graph_node = work.graph_node,
       .what = what,
       .correlation = work.correlation,
       .lane = lane_id({1, work.device, work.stream}),
       .range = node == node_range_.end() ? 0 : node->second});
}

void Aggregator::call(std::string_view name, bool of_driver, std::uint64_t thread, std::uint32_t correlation,
                      const Times& times) {
  const std::uint32_t what = what_id({.kind = Kind::call, .name = name_id(name)});
  if (!has_time(times, what)) return;
  const Event event{.begin_ns = times.begin_ns,
                    .end_ns = times.end_ns,
                    .what = what,
                    .correlation = correlation,
                    .lane = lane_id({0, 0, thread})};
  PendingCalls& pending = pending_[event.lane];
  if (!pending.driver.empty() && pending.driver.front().correlation != correlation) {
    for (const Event& alone : pending.driver) add(alone);
    pending.driver.clear();
  }
  if (!of_driver) {
    pending.driver.clear();  // they were inside this one
    pending.last_runtime = correlation;
    add(event);
  } else if (correlation == 0) {
    add(event);
  } else if (correlation != pending.last_runtime) {
    pending.driver.push_back(event);
  }
}

void Aggregator::finish() {
  for (PendingCalls& pending : pending_) {
    for (const Event& alone : pending.driver) add(alone);
    pending.driver.clear();
  }
  header_.finished = 1;
}

void Aggregator::range(std::string_view name, std::uint64_t thread, const Times& times, std::int64_t mark) {
  const std::uint32_t what = what_id({.kind = Kind::range, .name = name_id(name)});
  if (!has_time(times, what)) return;
  add({.begin_ns = times.begin_ns,
       .end_ns = times.end_ns,
       .bytes = mark,
       .what = what,
       .lane = lane_id({0, 0, thread})});
}

void Aggregator::node_created(std::uint64_t node, std::string_view range) {
  if (range.empty() || node_range_.size() >= kMaxNodes) return;
  node_range_[node] = name_id(range) + 1;
}

void Aggregator::node_cloned(std::uint64_t node, std::uint64_t original) {
  const auto it = node_range_.find(original);
  if (it == node_range_.end() || node_range_.size() >= kMaxNodes) return;
  const std::uint32_t range = it->second;
  node_range_[node] = range;
}

void Aggregator::note(std::string text) {
  constexpr std::size_t kMaxNotes = 64;
  if (notes_.size() < kMaxNotes && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(std::move(text));
}

// Beyond the room for launches, those of a kernel are one; beyond that, the last place stands for all others.
std::size_t Aggregator::counted_id(const CountedKernel& kernel) {
  if (const auto it = counted_ids_.find(kernel); it != counted_ids_.end()) return it->second;
  CountedKernel known = kernel;
  if (counted_.size() >= kMaxCounted / 2) {
    known = {.name = kernel.name};
    if (const auto it = counted_ids_.find(known); it != counted_ids_.end()) return it->second;
    if (counted_.size() >= kMaxCounted) return kMaxCounted - 1;
    if (counted_.size() == kMaxCounted - 1) known.name = name_id("all others");
  }
  const std::size_t id = counted_.size();
  counted_.push_back(known);
  counts_.resize(counts_.size() + counters_.size());
  counted_ids_.emplace(known, id);
  return id;
}

void Aggregator::count(std::string_view kernel, std::string_view range, CountedKernel size, std::size_t first,
                       std::span<const double> values) {
  size.name = name_id(kernel), size.range = range.empty() ? 0 : name_id(range) + 1;
  const std::size_t row = counted_id(size) * counters_.size() + first;
  for (std::size_t i = 0; i < values.size(); ++i) counts_[row + i] += values[i];
}

}  // namespace headroom::inject
