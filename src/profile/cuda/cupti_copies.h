#pragma once

#ifdef HEADROOM_HAS_CUPTI

#include <cupti.h>

#include "profile/trace.h"

namespace headroom {

inline Trace::CopyKind copy_kind_of(std::uint8_t cupti_kind) {
  switch (cupti_kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return Trace::CopyKind::host_to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return Trace::CopyKind::device_to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return Trace::CopyKind::peer;
    default:
      return Trace::CopyKind::device_to_device;
  }
}

// Whether the host's side of a copy is pinned.
template <class Record>
bool is_pinned(const Record& copy) {
  return copy.srcKind != CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE &&
         copy.dstKind != CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

}  // namespace headroom
#endif
