#pragma once

#include <vector>

#include "profile/trace_scope.h"

namespace headroom {

// A span and the one around it on the same thread.
struct PlacedSpan {
  const Trace::Span* span = nullptr;
  int parent = -1;      // a place in the list; -1: none
  std::int64_t ns = 0;  // the part of it within the scope
};

// The spans that reach into the scope, by lane, in order of their begin: a parent comes before its children.
// Refers to the trace.
std::vector<PlacedSpan> placed_spans(const Trace& trace, const TraceScope& scope);

}  // namespace headroom
