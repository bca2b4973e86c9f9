#include "ops/cuda/gemm.h"

#include <algorithm>

#include "base/error.h"
#include "ops/cuda/cublaslt.h"

namespace headroom::cuda {

#ifdef HEADROOM_HAS_CUBLASLT

namespace {

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

std::uint32_t bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2; }

cublasLtMatrixLayout_t layout(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                              std::int64_t batch, std::int64_t stride) {
  const CublasLt& lt = cublaslt();
  cublasLtMatrixLayout_t made = nullptr;
  HEADROOM_CUBLASLT_CHECK(lt.layout_create(&made, type_of(dtype), static_cast<std::uint64_t>(rows),
                                           static_cast<std::uint64_t>(columns), ld));
  const auto count = static_cast<std::int32_t>(batch);
  HEADROOM_CUBLASLT_CHECK(lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  HEADROOM_CUBLASLT_CHECK(
      lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  return made;
}

}  // namespace

// cuBLASLt thinks in columns: our row-major C is its C^T = op(B)^T op(A)^T, so B comes first there.
struct GemmPlan::Parts {
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  // For pointers that are multiples of 16 bytes, and for any others.
  cublasLtMatmulAlgo_t aligned{}, any{};
  bool has_aligned = false, has_any = false;
  std::size_t workspace_bytes = 0;
  bool is_double = false, bias = false;
  double alpha = 1, beta = 0;
  std::uint32_t c_bytes = 4;

  ~Parts() {
    const CublasLt& lt = cublaslt();
    if (desc != nullptr) lt.desc_destroy(desc);
    for (cublasLtMatrixLayout_t l : {a, b, c})
      if (l != nullptr) lt.layout_destroy(l);
  }
  bool find(cublasLtMatmulAlgo_t& algo, std::uint32_t alignment) const;
};

bool GemmPlan::Parts::find(cublasLtMatmulAlgo_t& algo, std::uint32_t alignment) const {
  const CublasLt& lt = cublaslt();
  cublasLtMatmulPreference_t preference = nullptr;
  HEADROOM_CUBLASLT_CHECK(lt.preference_create(&preference));
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
    HEADROOM_CUBLASLT_CHECK(lt.preference_set(preference, which, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  // Pieces of k are added up in fp32, in the workspace: in C they would be rounded to 16 bit in between.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  const std::uint32_t c_alignment = std::max(alignment, c_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c_alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c_alignment);
  if (bias) {  // only its alignment matters here; none at all may be taken for a mistake
    const std::uintptr_t somewhere = 4096 + (alignment < 16 ? alignment : 0);
    HEADROOM_CUBLASLT_CHECK(
        lt.desc_set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &somewhere, sizeof somewhere));
  }
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status =
      lt.heuristic(cublaslt_handle(), desc, b, a, c, c, preference, 1, &result, &found);
  lt.preference_destroy(preference);
  // Not every type has every epilogue; which of the two it says depends on the version.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
  HEADROOM_CUBLASLT_CHECK(status);
  algo = result.algo;
  return found > 0 && result.state == CUBLAS_STATUS_SUCCESS;
}

GemmPlan::GemmPlan(const Problem& p, std::size_t workspace_bytes) : parts_(std::make_unique<Parts>()) {
  const CublasLt& lt = cublaslt();
  Parts& parts = *parts_;
  parts.workspace_bytes = workspace_bytes;
  parts.is_double = p.dtype == DType::f64;
  parts.alpha = p.alpha, parts.beta = p.beta;
  parts.bias = p.bias;
  const DType c_type = p.fp32_c ? DType::f32 : p.dtype;
  parts.c_bytes = bytes_of(c_type);
  const cublasComputeType_t compute = parts.is_double                   ? CUBLAS_COMPUTE_64F
                                      : p.dtype == DType::f32 && p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                        : CUBLAS_COMPUTE_32F;
  HEADROOM_CUBLASLT_CHECK(lt.desc_create(&parts.desc, compute, parts.is_double ? CUDA_R_64F : CUDA_R_32F));
  const auto set = [&](cublasLtMatmulDescAttributes_t which, const auto& value) {
    HEADROOM_CUBLASLT_CHECK(lt.desc_set(parts.desc, which, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.bias ? (p.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                     : p.relu ? CUBLASLT_EPILOGUE_RELU
                                              : CUBLASLT_EPILOGUE_DEFAULT);
  if (p.bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(type_of(c_type)));
  parts.a = layout(p.dtype, p.trans_a ? p.m : p.k, p.trans_a ? p.k : p.m, p.lda, p.batch, p.stride_a);
  parts.b = layout(p.dtype, p.trans_b ? p.k : p.n, p.trans_b ? p.n : p.k, p.ldb, p.batch, p.stride_b);
  parts.c = layout(c_type, p.n, p.m, p.ldc, p.batch, p.stride_c);
  parts.has_any = parts.find(parts.any, bytes_of(p.dtype));
  parts.has_aligned = parts.find(parts.aligned, 16);
}

bool GemmPlan::good() const { return parts_->has_any && parts_->has_aligned; }

void GemmPlan::run(cudaStream_t stream, const void* a, const void* b, void* c, const void* bias,
                   void* workspace, const void* add) const {
  const CublasLt& lt = cublaslt();
  const Parts& parts = *parts_;
  if (bias != nullptr)
    HEADROOM_CUBLASLT_CHECK(lt.desc_set(parts.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  const auto narrow_alpha = static_cast<float>(parts.alpha), narrow_beta = static_cast<float>(parts.beta);
  const void *alpha = &narrow_alpha, *beta = &narrow_beta;
  if (parts.is_double) alpha = &parts.alpha, beta = &parts.beta;
  if (add == nullptr) add = c;
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const bool aligned = (address(a) | address(b) | address(c) | address(bias) | address(add)) % 16 == 0;
  HEADROOM_CUBLASLT_CHECK(lt.matmul(cublaslt_handle(), parts.desc, alpha, b, parts.b, a, parts.a, beta, add,
                                    parts.c, c, parts.c, aligned ? &parts.aligned : &parts.any, workspace,
                                    workspace == nullptr ? 0 : parts.workspace_bytes, stream));
}

#else

struct GemmPlan::Parts {};

GemmPlan::GemmPlan(const Problem&, std::size_t) {
  throw Error(Blame::run, "this program was built without cublasLt.h",
              Hint{"choose `kernel` linear=cuda:tiles"});
}
bool GemmPlan::good() const { return false; }
void GemmPlan::run(cudaStream_t, const void*, const void*, void*, const void*, void*, const void*) const {}

#endif

GemmPlan::~GemmPlan() = default;
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;

}  // namespace headroom::cuda
