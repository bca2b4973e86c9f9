#include "inject/cuda/process_state.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace headroom::inject {
namespace {

// As the launchers of ranks call it; -1: none of them.
int launched_rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return std::atoi(value);
  return -1;
}

std::string file_of_process() {
  const char* const folder = std::getenv(kFolderVariable);
  if (folder == nullptr) return {};
  char host[65] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string(folder) + "/" + host + "-" + std::to_string(::getpid()) + kFileEnding;
}

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ProcessState::ProcessState()
    : aggregator(window_rule(std::getenv(kWindowVariable))),
      path(file_of_process()),
      counts(std::getenv(kCountersVariable) != nullptr) {
  const std::int64_t epoch_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count();
  Header& header = aggregator.header();
  header.pid = ::getpid(), header.rank = launched_rank(), header.clock_to_epoch_ns = epoch_ns - now_ns();
}

void ProcessState::add(EndedRange range) {
  constexpr std::size_t kMaxWaiting = 1 << 14;
  bool full = false;
  {
    const std::lock_guard lock(ended_mutex_);
    ended_.push_back(std::move(range));
    full = ended_.size() >= kMaxWaiting;
  }
  if (!full || !mutex.try_lock()) return;
  const std::lock_guard lock(mutex, std::adopt_lock);
  take_ranges();
}

void ProcessState::take_ranges() {
  std::vector<EndedRange> ended;
  {
    const std::lock_guard lock(ended_mutex_);
    ended.swap(ended_);
  }
  for (const EndedRange& range : ended) aggregator.range(range.name, range.thread, range.times, range.mark);
}

void ProcessState::write() {
  if (path.empty()) return;
  const std::lock_guard one_file(writing_);
  const Aggregator::Snapshot now = [this] {
    const std::lock_guard lock(mutex);
    take_ranges();
    return aggregator.snapshot();
  }();
  now.write(path);
}

ProcessState& state() {
  static ProcessState* current = [] {
    // Another thread may hold the lock of the parent's state when a child is forked.
    ::pthread_atfork(nullptr, nullptr, [] { current = new ProcessState; });
    return new ProcessState;
  }();
  return *current;
}

}  // namespace headroom::inject
