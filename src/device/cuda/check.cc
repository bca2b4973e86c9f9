#include "device/cuda/check.h"

#include <string_view>

#include "base/error.h"

namespace headroom::cuda {

void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();             // so that a later call does not report it again
  std::string_view where = file;  // relative to the project's folder, for any build
  if (const std::size_t at = where.rfind("src/"); at != std::string_view::npos) where.remove_prefix(at);
  fail("{}:{}: {}: {} ({})", where, line, call, cudaGetErrorString(error), cudaGetErrorName(error));
}

}  // namespace headroom::cuda
