#include "inject/process_file.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace headroom::inject {
namespace {

class ProcessReader {
 public:
  ProcessReader(const std::string& bytes, const std::filesystem::path& path) : bytes_(bytes), path_(path) {}

  template <class T>
  void take(T& value) {
    std::memcpy(static_cast<void*>(&value), next(1, sizeof(T)), sizeof(T));
  }
  template <class T>
  void take(std::vector<T>& values, std::uint64_t count) {
    const char* const data = next(count, sizeof(T));
    values.resize(count);
    if (count > 0) std::memcpy(static_cast<void*>(values.data()), data, count * sizeof(T));
  }
  void take(std::vector<std::string>& texts, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint32_t size = 0;
      take(size);
      texts.emplace_back(next(size, 1), size);
    }
  }
  bool at_end() const { return at_ == bytes_.size(); }
  [[noreturn]] void damaged() const {
    reject(Hint{"profile the program again"}, "{}: the record of the process is damaged", path_.string());
  }

 private:
  const char* next(std::uint64_t count, std::size_t size) {
    if (count > (bytes_.size() - at_) / size) damaged();
    const char* const data = bytes_.data() + at_;
    at_ += count * size;
    return data;
  }

  const std::string& bytes_;
  const std::filesystem::path& path_;
  std::size_t at_ = 0;
};

// What the tables rely on: every number points to something.
bool is_sound(const ProcessRecord& r) {
  constexpr int kCopyKinds = 5;
  return std::ranges::all_of(r.whats,
                             [&](const What& what) {
                               return what.kind <= Kind::range && what.copy_kind < kCopyKinds &&
                                      (what.kind == Kind::copy || what.name < r.names.size());
                             }) &&
         std::ranges::all_of(r.events,
                             [&](const Event& event) {
                               return event.what < r.whats.size() && event.lane < r.lanes.size() &&
                                      event.range <= r.names.size() && event.begin_ns <= event.end_ns;
                             }) &&
         std::ranges::all_of(r.counted, [&](const CountedKernel& kernel) {
           return kernel.name < r.names.size() && kernel.range <= r.names.size();
         });
}

std::int64_t first_ns(const ProcessRecord& r) {
  std::int64_t first = INT64_MAX;
  for (const Event& event : r.events) first = std::min(first, event.begin_ns);
  return first;
}

}  // namespace

ProcessRecord read_process(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  ProcessReader reader(bytes, path);
  ProcessRecord r;
  reader.take(r.header);
  const Header known;
  if (std::memcmp(r.header.magic, known.magic, sizeof known.magic) != 0) reader.damaged();
  if (r.header.version != known.version)
    reject(Hint{"use the library and the program of one build"},
           "{}: the record of the process has version {}; this program reads {}", path.string(),
           r.header.version, known.version);
  reader.take(r.names, r.header.names);
  reader.take(r.whats, r.header.whats);
  reader.take(r.totals, r.header.whats);
  reader.take(r.lanes, r.header.lanes);
  reader.take(r.events, r.header.events);
  reader.take(r.notes, r.header.notes);
  reader.take(r.counters, r.header.counters);
  reader.take(r.counted, r.header.counted);
  reader.take(r.counts, std::uint64_t(r.counters.size()) * r.counted.size());
  if (!reader.at_end() || !is_sound(r)) reader.damaged();
  return r;
}

std::vector<ProcessRecord> read_processes(const std::filesystem::path& folder) {
  std::vector<ProcessRecord> processes;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == kFileEnding) processes.push_back(read_process(entry.path()));
  std::ranges::stable_sort(processes, {}, [](const ProcessRecord& r) {
    return std::pair(r.header.rank, r.header.clock_to_epoch_ns + first_ns(r));
  });
  // Two processes may call themselves rank 0, as a program and its helper do: then their order counts.
  std::set<std::int32_t> ranks;
  for (const ProcessRecord& r : processes) ranks.insert(r.header.rank);
  const bool numbered = ranks.size() == processes.size() && !ranks.contains(-1);
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (!numbered) processes[i].header.rank = static_cast<std::int32_t>(i);
  return processes;
}

}  // namespace headroom::inject
