#include "comm/cuda_nccl_library.h"

#include "comm/cuda_communicator.h"

#ifdef HEADROOM_HAS_NCCL

#include "base/error.h"
#include "device/cuda/library.h"

namespace headroom {
namespace {

Nccl load() {
  constexpr const char* kInstead = "install NVIDIA's package libnccl2, or add `no-nccl`";
  const cuda::Library library({"libnccl.so.2", "libnccl.so"});
  if (!library.loaded())
    throw Error(Blame::run, fmt::format("NCCL cannot be loaded: {}", library.why_not()), Hint{kInstead});
  Nccl n;
#define HEADROOM_NCCL_FIND(name)           \
  if (!library.find(n.name, "nccl" #name)) \
    throw Error(Blame::run, "NCCL has no function nccl" #name, Hint{kInstead});
  HEADROOM_NCCL_CALLS(HEADROOM_NCCL_FIND)
#undef HEADROOM_NCCL_FIND
  return n;
}

}  // namespace

const Nccl& nccl() {
  static const Nccl n = load();
  return n;
}

void check_nccl(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) fail("NCCL: {}: {}", call, nccl().GetErrorString(result));
}

std::string why_no_nccl() {
  try {
    nccl();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace headroom

#else

namespace headroom {

std::string why_no_nccl() { return "this program was built without NCCL"; }

}  // namespace headroom

#endif
