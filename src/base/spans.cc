#include "base/spans.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/text.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HEADROOM_HAS_NVTX 1
#else
#define HEADROOM_HAS_NVTX 0
#endif

namespace headroom {
namespace {

constexpr std::array<std::pair<SpanKind, std::string_view>, 14> kKinds = {{
    {SpanKind::start_up, "start-up"},
    {SpanKind::data, "data"},
    {SpanKind::setup, "setup"},
    {SpanKind::training, "training"},
    {SpanKind::batch, "batch"},
    {SpanKind::wait, "wait"},
    {SpanKind::copy, "copy"},
    {SpanKind::phase, "phase"},
    {SpanKind::step, "step"},
    {SpanKind::exchange, "exchange"},
    {SpanKind::evaluation, "evaluation"},
    {SpanKind::saving, "saving"},
    {SpanKind::worker, "worker"},
    {SpanKind::user, "user"},
}};

constexpr std::size_t kMaxEvents = std::size_t{1} << 20;  // of one thread

// The spans of one thread. The thread writes, stop() reads: the lock is free but for that moment.
struct ThreadLog {
  std::mutex mutex;
  std::int64_t recording = -1;  // the number of the recording that `events` belong to
  std::string name;
  std::int64_t system_id = ::gettid();
  std::vector<SpanEvent> events;
  std::vector<std::size_t> open;  // indices; kMaxEvents: a span that was dropped
  std::int64_t dropped = 0;
};

// Lives as long as any thread that may still record: never destroyed.
struct Registry {
  std::mutex mutex;
  std::deque<std::string> names;  // which do not move: NVTX gets their addresses
  std::map<std::string, std::int32_t, std::less<>> ids;
  std::vector<std::shared_ptr<ThreadLog>> logs;
  std::atomic<std::int64_t> recording{0};
  std::atomic<bool> nvtx{false};
  std::int64_t threads = 0;  // that had no name
};

Registry& registry() {
  static Registry& one = *new Registry;
  return one;
}

thread_local std::string this_thread_name;
thread_local std::shared_ptr<ThreadLog> this_thread_log;

void push_range([[maybe_unused]] std::int32_t name) {
#if HEADROOM_HAS_NVTX
  const char* text = nullptr;
  {
    const std::lock_guard lock(registry().mutex);
    text = registry().names[static_cast<std::size_t>(name)].c_str();
  }
  nvtxRangePushA(text);
#endif
}

void pop_range() {
#if HEADROOM_HAS_NVTX
  nvtxRangePop();
#endif
}

ThreadLog& log_of_this_thread() {
  if (this_thread_log == nullptr) {
    this_thread_log = std::make_shared<ThreadLog>();
    const std::lock_guard lock(registry().mutex);
    registry().logs.push_back(this_thread_log);
    this_thread_log->name =
        this_thread_name.empty() ? fmt::format("thread {}", ++registry().threads) : this_thread_name;
  }
  return *this_thread_log;
}

}  // namespace

std::string_view name_of(SpanKind kind) { return kKinds[static_cast<std::size_t>(kind)].second; }

SpanName::SpanName(std::string_view text) {
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().ids.find(text);
  if (it != registry().ids.end()) {
    id_ = it->second;
    return;
  }
  id_ = static_cast<std::int32_t>(registry().names.size());
  registry().names.emplace_back(text);
  registry().ids.emplace(text, id_);
}

namespace spans {

std::atomic<bool> recording = false;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string text_of(std::int32_t name) {
  const std::lock_guard lock(registry().mutex);
  return registry().names.at(static_cast<std::size_t>(name));
}

void name_thread(std::string name) {
  this_thread_name = std::move(name);
  if (this_thread_log == nullptr) return;
  const std::lock_guard lock(this_thread_log->mutex);
  this_thread_log->name = this_thread_name;
}

bool has_nvtx() { return HEADROOM_HAS_NVTX; }

void start(bool nvtx) {
  registry().nvtx = nvtx;
  {
    const std::lock_guard lock(registry().mutex);
    // Threads that have ended leave nothing to wait for.
    std::erase_if(registry().logs, [](const auto& log) { return log.use_count() == 1; });
  }
  ++registry().recording;
  recording = true;
}

void open(std::int32_t name, SpanKind kind, std::int32_t step) {
  ThreadLog& log = log_of_this_thread();
  const std::lock_guard lock(log.mutex);
  if (registry().nvtx) push_range(name);
  if (const std::int64_t current = registry().recording; log.recording != current) {
    log.recording = current;
    log.events.clear(), log.open.clear(), log.dropped = 0;
  }
  if (log.events.size() >= kMaxEvents) {
    ++log.dropped;
    return log.open.push_back(kMaxEvents);
  }
  const auto depth = static_cast<std::uint8_t>(std::min<std::size_t>(log.open.size(), 255));
  log.open.push_back(log.events.size());
  log.events.push_back({.begin_ns = now_ns(), .name = name, .step = step, .kind = kind, .depth = depth});
}

void close() {
  const std::int64_t now = now_ns();
  ThreadLog& log = log_of_this_thread();
  const std::lock_guard lock(log.mutex);
  if (log.recording != registry().recording || log.open.empty()) return;
  if (registry().nvtx) pop_range();
  if (const std::size_t event = log.open.back(); event != kMaxEvents) log.events[event].end_ns = now;
  log.open.pop_back();
}

std::vector<ThreadSpans> stop() {
  recording = false;
  const std::int64_t now = now_ns();
  std::vector<std::shared_ptr<ThreadLog>> logs;
  {
    const std::lock_guard lock(registry().mutex);
    logs = registry().logs;
  }
  std::vector<ThreadSpans> all;
  for (const auto& log : logs) {
    const std::lock_guard lock(log->mutex);
    if (log->recording != registry().recording) continue;
    for (std::size_t event : log->open)
      if (event != kMaxEvents) log->events[event].end_ns = now;
    log->open.clear();
    if (!log->events.empty())
      all.push_back({log->name, log->system_id, std::move(log->events), log->dropped});
    log->events = {};
  }
  return all;
}

}  // namespace spans
}  // namespace headroom
