#pragma once

// NVIDIA's matrix products, loaded on first use: the program is built without linking them and runs without
// them, by its own kernels.

#if __has_include(<cublasLt.h>)
#define HEADROOM_HAS_CUBLASLT
#include <cublasLt.h>

namespace headroom::cuda {

struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
};

// Throws, saying what is missing and what to try, where the library cannot be loaded.
const CublasLt& cublaslt();
// The handle of the current device, made on first use and kept for the life of the process.
cublasLtHandle_t cublaslt_handle();

void check_cublaslt(cublasStatus_t status, const char* call, const char* file, int line);

}  // namespace headroom::cuda

#define HEADROOM_CUBLASLT_CHECK(call) ::headroom::cuda::check_cublaslt((call), #call, __FILE__, __LINE__)
#endif
