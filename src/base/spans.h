#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// What a thread was doing. Tables group by it, traces colour by it.
enum class SpanKind : std::uint8_t {
  start_up,  // of the program and its devices
  data,      // reading and preparing a data set, or a batch on a loader thread
  setup,     // from a network to its first step
  training,
  batch,     // one step of the training, or one pass of an evaluation
  wait,      // for a loader thread, a device or another rank
  copy,      // between host and device
  phase,     // forward, backward, update
  step,      // one step of the plan; its number is SpanEvent::step
  exchange,  // between ranks
  evaluation,
  saving,
  worker,  // the share of one thread in a kernel
  user,    // of the public Timer
};
std::string_view name_of(SpanKind kind);

// A name known before the first span: making one takes a lock, opening a span does not look it up.
class SpanName {
 public:
  explicit SpanName(std::string_view text);
  std::int32_t id() const { return id_; }

 private:
  std::int32_t id_;
};

// One span of one thread, on the clock of spans::now_ns().
struct SpanEvent {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int32_t name = 0, step = -1;  // step: of the plan; -1: of none
  SpanKind kind = SpanKind::user;
  std::uint8_t depth = 0;  // number of spans around it on its thread
};

struct ThreadSpans {
  std::string thread;             // "main", "loader 1"
  std::int64_t system_id = 0;     // the system's number of the thread
  std::vector<SpanEvent> events;  // in order of their begin
  std::int64_t dropped = 0;       // beyond the room of a thread
};

namespace spans {

extern std::atomic<bool> recording;  // not inline: each level of CPU kernels would have its own
inline bool on() { return recording.load(std::memory_order_relaxed); }

std::int64_t now_ns();  // of the steady clock

// Starts afresh: what was recorded before is forgotten. With `nvtx` every span is also a range that NVIDIA's
// tools see, if this program was built with their header.
void start(bool nvtx = false);
bool has_nvtx();
// Ends the recording. Spans still open end now.
std::vector<ThreadSpans> stop();
std::string text_of(std::int32_t name);

// The name of this thread in every recording from now on. Costs nothing while none runs.
void name_thread(std::string name);

void open(std::int32_t name, SpanKind kind, std::int32_t step = -1);  // only if on()
void close();  // the span this thread opened last; nothing if a new recording has begun since

}  // namespace spans

// The time between its construction and its destruction. Costs one branch while nothing is recorded.
class Span {
 public:
  Span(const SpanName& name, SpanKind kind, std::int32_t step = -1) {
    if (spans::on()) [[unlikely]] {
      spans::open(name.id(), kind, step);
      opened_ = true;
    }
  }
  ~Span() {
    if (opened_) [[unlikely]]
      spans::close();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  bool opened_ = false;
};

}  // namespace headroom
