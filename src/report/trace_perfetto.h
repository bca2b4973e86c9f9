#pragma once

#include <string>

#include "report/trace_tracks.h"

namespace headroom {

// The trace in Perfetto's own format (protobuf messages), for ui.perfetto.dev and its SQL: the same content
// as chrome_trace, in a third to a fifth of the bytes.
std::string perfetto_trace(const TraceTracks& tracks);

}  // namespace headroom
