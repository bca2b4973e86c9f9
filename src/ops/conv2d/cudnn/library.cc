#include "ops/conv2d/cudnn/library.h"

#ifdef HEADROOM_HAS_CUDNN

#include <map>
#include <mutex>

#include "base/error.h"
#include "device/cuda/check.h"
#include "device/cuda/library.h"

// The plain calls are marked as old; they are in every version since 8.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace headroom {
namespace {

Cudnn load() {
  constexpr const char* kInstead =
      "install cuDNN 9, or choose `kernel` conv2d=cuda:implicit_gemm `layout` nchw";
  const cuda::Library library(cuda::cudnn_names());
  if (!library.loaded())
    throw Error(Blame::run, fmt::format("cuDNN cannot be loaded: {}", library.why_not()), Hint{kInstead});
  Cudnn c;
#define HEADROOM_CUDNN_FIND(name)           \
  if (!library.find(c.name, "cudnn" #name)) \
    throw Error(Blame::run, "cuDNN has no function cudnn" #name, Hint{kInstead});
  HEADROOM_CUDNN_CALLS(HEADROOM_CUDNN_FIND)
#undef HEADROOM_CUDNN_FIND
  return c;
}

}  // namespace

const Cudnn& cudnn() {
  static const Cudnn c = load();
  return c;
}

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) fail("cuDNN: {}: {}", call, cudnn().GetErrorString(status));
}

cudnnHandle_t cudnn_handle() {
  static std::mutex mutex;
  static std::map<int, cudnnHandle_t> handles;  // never destroyed: the driver may be gone before statics are
  int device = 0;
  HEADROOM_CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  cudnnHandle_t& h = handles[device];
  if (h == nullptr) HEADROOM_CUDNN_CHECK(cudnn().Create(&h));
  return h;
}

cudnnDataType_t cudnn_type(DType dtype) {
  return dtype == DType::f64    ? CUDNN_DATA_DOUBLE
         : dtype == DType::f16  ? CUDNN_DATA_HALF
         : dtype == DType::bf16 ? CUDNN_DATA_BFLOAT16
                                : CUDNN_DATA_FLOAT;
}

}  // namespace headroom

#endif
