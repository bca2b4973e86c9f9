#pragma once

#ifdef HEADROOM_HAS_CUPTI

#include <map>
#include <unordered_map>

#include "profile/cuda/cupti_buffers.h"
#include "profile/cuda/cupti_library.h"
#include "profile/trace.h"

namespace headroom {

// What the tracer learned beside the records.
struct CuptiContext {
  std::int64_t origin_ns = 0;
  int rank = 0;
  std::map<std::uint32_t, std::string> streams;                // their names, where the device knows them
  std::unordered_map<std::uint64_t, std::int32_t> node_steps;  // steps of instantiated graph nodes
};

// Adds kernels, copies and calls to the trace, in order of their begin.
void add_cupti_records(Trace& trace, const CuptiBuffers& buffers, const CuptiContext& context);

}  // namespace headroom
#endif
