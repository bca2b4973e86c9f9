#pragma once

#include <string>

#include "report/trace_tracks.h"

namespace headroom {

// The trace as JSON that chrome://tracing, Perfetto and many others open: a process per rank and one for its
// GPU, complete events with their details, arrows from calls to kernels, curves.
std::string chrome_trace(const TraceTracks& tracks);

}  // namespace headroom
