#include "comm/cuda_communicator.h"

#include <cstring>
#include <set>

#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"

namespace headroom {
namespace {

// True if no two ranks share a GPU.
bool each_has_its_own(CudaDevice& gpu, Communicator& within) {
  cudaDeviceProp properties{};
  HEADROOM_CUDA_CHECK(cudaGetDeviceProperties(&properties, gpu.index()));
  constexpr std::size_t kBytes = sizeof properties.uuid;
  const auto ranks = static_cast<std::size_t>(within.size()), mine = static_cast<std::size_t>(within.rank());
  std::string all(kBytes * ranks, '\0');
  std::memcpy(&all[mine * kBytes], &properties.uuid, kBytes);
  within.run({.kind = Collective::Kind::all_gather,
              .data = all.data(),
              .count = static_cast<std::int64_t>(all.size()),
              .dtype = DType::u8});
  std::set<std::string> different;
  for (std::size_t r = 0; r < ranks; ++r) different.insert(all.substr(r * kBytes, kBytes));
  return different.size() == ranks;
}

// NCCL is loaded only if each rank has its own GPU. Then all ranks use it, or none does.
bool all_use_nccl(CudaDevice& gpu, Communicator& within) {
  if (!each_has_its_own(gpu, within)) return false;
  double here = why_no_nccl().empty() ? 1 : 0;
  within.all_reduce(&here, 1, Reduction::min);
  return here > 0;
}

}  // namespace

std::unique_ptr<Communicator> make_cuda_communicator(Device& gpu, MpiCommunicator& within, bool allow_nccl) {
  if (allow_nccl && all_use_nccl(static_cast<CudaDevice&>(gpu), within))
    return make_nccl_communicator(gpu, within);
  return make_staged_communicator(gpu, within.progress(), within.link());
}

}  // namespace headroom
