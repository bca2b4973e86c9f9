#pragma once

// NVIDIA's collectives between GPUs, loaded on first use. The program is built without linking them and runs
// without them.

#ifdef HEADROOM_HAS_NCCL

#include <nccl.h>

namespace headroom {

#define HEADROOM_NCCL_CALLS(call)                                                                           \
  call(GetUniqueId) call(CommInitRank) call(CommSplit) call(CommDestroy) call(CommUserRank) call(CommCount) \
      call(CommGetAsyncError) call(GetErrorString) call(AllReduce) call(ReduceScatter) call(AllGather)      \
          call(Broadcast) call(Reduce) call(GroupStart) call(GroupEnd)

struct Nccl {
#define HEADROOM_NCCL_CALL(name) decltype(::nccl##name)* name = nullptr;
  HEADROOM_NCCL_CALLS(HEADROOM_NCCL_CALL)
#undef HEADROOM_NCCL_CALL
};

// Throws if the library cannot be loaded, and says what is missing.
const Nccl& nccl();
void check_nccl(ncclResult_t result, const char* call);

}  // namespace headroom

#define HEADROOM_NCCL_CHECK(call) ::headroom::check_nccl((call), #call)
#endif
