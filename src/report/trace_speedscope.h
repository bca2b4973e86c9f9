#pragma once

#include <string>

#include "report/trace_tracks.h"

namespace headroom {

// The trace as a file of speedscope.app: a profile per thread and stream, in nanoseconds.
std::string speedscope_trace(const TraceTracks& tracks);

}  // namespace headroom
