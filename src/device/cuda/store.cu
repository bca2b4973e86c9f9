#include <cstring>

#include "device/cuda/check.h"
#include "device/cuda/store.h"

namespace headroom::cuda {
namespace {

struct Stored {
  unsigned char bytes[kMaxStored];
};

__global__ void store_bytes(unsigned char* to, const __grid_constant__ Stored from, unsigned count) {
  if (threadIdx.x < count) to[threadIdx.x] = from.bytes[threadIdx.x];
}

}  // namespace

void store(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  Stored stored{};
  std::memcpy(stored.bytes, from, bytes);
  store_bytes<<<1, kMaxStored, 0, stream>>>(static_cast<unsigned char*>(to), stored,
                                            static_cast<unsigned>(bytes));
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
