#pragma once

#include <string_view>

#include "base/sheet.h"
#include "profile/trace.h"

namespace headroom::testing {

// Events of a hand-made trace; times in nanoseconds.
inline Trace::Span& add_span(Trace& trace, int lane, std::string_view name, std::int64_t begin,
                             std::int64_t end, int depth = 0, SpanKind kind = SpanKind::user) {
  Trace::Span span{{begin, end}};
  span.lane = lane, span.name = trace.name_id(name), span.depth = depth, span.kind = kind;
  return trace.spans.emplace_back(span);
}

inline Trace::Kernel& add_kernel(Trace& trace, int lane, std::string_view name, std::int64_t begin,
                                 std::int64_t end, std::int64_t correlation = 0) {
  Trace::Kernel kernel{{begin, end}};
  kernel.lane = lane, kernel.name = trace.name_id(name), kernel.correlation = correlation;
  return trace.kernels.emplace_back(kernel);
}

inline Trace::Call& add_call(Trace& trace, int lane, std::string_view name, std::int64_t begin,
                             std::int64_t end, std::int64_t correlation = 0) {
  Trace::Call call{{begin, end}};
  call.lane = lane, call.name = trace.name_id(name), call.correlation = correlation;
  return trace.calls.emplace_back(call);
}

inline Trace::Copy& add_copy(Trace& trace, int lane, Trace::CopyKind kind, std::int64_t bytes,
                             std::int64_t begin, std::int64_t end, std::int64_t correlation = 0) {
  Trace::Copy copy{{begin, end}};
  copy.lane = lane, copy.kind = kind, copy.bytes = bytes, copy.correlation = correlation;
  return trace.copies.emplace_back(copy);
}

inline void add_window(Trace& trace, int rank, std::int64_t begin, std::int64_t end) {
  Trace::Window window{{begin, end}};
  window.rank = rank, window.steps = 1;
  trace.windows.push_back(window);
}

}  // namespace headroom::testing
