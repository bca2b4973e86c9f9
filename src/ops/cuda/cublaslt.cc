#include "ops/cuda/cublaslt.h"

#ifdef HEADROOM_HAS_CUBLASLT

#include <map>
#include <mutex>
#include <string_view>

#include "base/error.h"
#include "device/cuda/check.h"
#include "device/cuda/library.h"

namespace headroom::cuda {
namespace {

constexpr const char* kInstead =
    "install libcublasLt of CUDA 12 or 13, or choose `kernel` linear=cuda:tiles and "
    "`kernel` matmul=cuda:tiles";

CublasLt load() {
  const Library library(cublaslt_names());
  if (!library.loaded())
    throw Error(Blame::run, fmt::format("cuBLASLt cannot be loaded: {}", library.why_not()), Hint{kInstead});
  CublasLt lt;
  const auto find = [&](auto& function, const char* name) {
    if (!library.find(function, name))
      throw Error(Blame::run, fmt::format("cuBLASLt has no function {}", name), Hint{kInstead});
  };
  find(lt.create, "cublasLtCreate");
  find(lt.matmul, "cublasLtMatmul");
  find(lt.desc_create, "cublasLtMatmulDescCreate");
  find(lt.desc_destroy, "cublasLtMatmulDescDestroy");
  find(lt.desc_set, "cublasLtMatmulDescSetAttribute");
  find(lt.layout_create, "cublasLtMatrixLayoutCreate");
  find(lt.layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(lt.layout_set, "cublasLtMatrixLayoutSetAttribute");
  find(lt.preference_create, "cublasLtMatmulPreferenceCreate");
  find(lt.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(lt.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  find(lt.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  return lt;
}

// The library's own names, which need another library to be asked for.
std::string_view name_of_status(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "not initialised";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "out of memory";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "invalid value";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "not on this GPU";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "memory cannot be mapped";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the kernel failed";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "internal error";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "not supported";
    default:
      return "unknown status";
  }
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt lt = load();
  return lt;
}

cublasLtHandle_t cublaslt_handle() {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t>
      handles;  // never destroyed: the driver may be gone before statics are
  int device = 0;
  HEADROOM_CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) HEADROOM_CUBLASLT_CHECK(cublaslt().create(&handle));
  return handle;
}

void check_cublaslt(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string_view where = file;
  if (const std::size_t at = where.rfind("src/"); at != std::string_view::npos) where.remove_prefix(at);
  fail("{}:{}: {}: cuBLASLt: {} ({})", where, line, call, name_of_status(status), static_cast<int>(status));
}

}  // namespace headroom::cuda

#endif
