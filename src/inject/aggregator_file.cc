// What an aggregator has at one moment, and the file of it.
#include <algorithm>
#include <cstdio>

#include "inject/aggregator.h"

namespace headroom::inject {
namespace {

template <class T>
bool put(std::FILE* file, const std::vector<T>& values) {
  return values.empty() || std::fwrite(values.data(), sizeof(T), values.size(), file) == values.size();
}

bool put(std::FILE* file, const std::vector<std::string>& texts) {
  return std::ranges::all_of(texts, [&](const std::string& text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    return std::fwrite(&size, sizeof size, 1, file) == 1 &&
           std::fwrite(text.data(), 1, text.size(), file) == text.size();
  });
}

}  // namespace

Aggregator::Snapshot Aggregator::snapshot() const {
  Snapshot s{.rest = {header_, names_, whats_, totals_, lanes_, {}, notes_, counters_, counted_, counts_}};
  Header& header = s.rest.header;
  header.names = names_.size(), header.whats = whats_.size(), header.lanes = lanes_.size();
  header.events = static_cast<std::uint64_t>(kept_), header.notes = notes_.size();
  header.counters = counters_.size(), header.counted = counted_.size();
  for (const std::shared_ptr<Chunk>& chunk : window_)
    if (chunk->events.size() == kChunk)
      s.full.push_back(chunk);
    else
      s.last = chunk->events;  // only the newest has room left
  return s;
}

ProcessRecord Aggregator::record() const {
  Snapshot s = snapshot();
  std::vector<Event>& events = s.rest.events;
  for (const auto& chunk : s.full) events.insert(events.end(), chunk->events.begin(), chunk->events.end());
  events.insert(events.end(), s.last.begin(), s.last.end());
  return std::move(s.rest);
}

bool Aggregator::Snapshot::write(const std::string& path) const {
  const std::string unfinished = path + ".new";
  std::FILE* const file = std::fopen(unfinished.c_str(), "wb");
  if (file == nullptr) return false;
  bool good = std::fwrite(&rest.header, sizeof rest.header, 1, file) == 1 && put(file, rest.names) &&
              put(file, rest.whats) && put(file, rest.totals) && put(file, rest.lanes);
  for (const auto& chunk : full) good = good && put(file, chunk->events);
  good = good && put(file, last) && put(file, rest.notes) && put(file, rest.counters) &&
         put(file, rest.counted) && put(file, rest.counts);
  good = std::fclose(file) == 0 && good;
  return good && std::rename(unfinished.c_str(), path.c_str()) == 0;
}

}  // namespace headroom::inject
