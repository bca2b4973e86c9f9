#include "machine/cuda/library_product.h"

#include <cublasLt.h>

#include <array>

#include "base/error.h"
#include "device/cuda/library.h"

namespace headroom::cuda {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

// The functions of cuBLASLt used here, loaded on first use.
struct Functions {
  decltype(cublasLtCreate)* create = nullptr;
  decltype(cublasLtDestroy)* destroy = nullptr;
  decltype(cublasLtMatmulDescCreate)* describe = nullptr;
  decltype(cublasLtMatmulDescDestroy)* forget = nullptr;
  decltype(cublasLtMatmulDescSetAttribute)* set = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* lay_out = nullptr;
  decltype(cublasLtMatrixLayoutDestroy)* forget_layout = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* prefer = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* forget_preference = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* suggest = nullptr;
  decltype(cublasLtMatmul)* multiply = nullptr;
  bool complete = false;

  explicit Functions(const Library& library) {
    complete = library.find(create, "cublasLtCreate") && library.find(destroy, "cublasLtDestroy") &&
               library.find(describe, "cublasLtMatmulDescCreate") &&
               library.find(forget, "cublasLtMatmulDescDestroy") &&
               library.find(set, "cublasLtMatmulDescSetAttribute") &&
               library.find(lay_out, "cublasLtMatrixLayoutCreate") &&
               library.find(forget_layout, "cublasLtMatrixLayoutDestroy") &&
               library.find(prefer, "cublasLtMatmulPreferenceCreate") &&
               library.find(forget_preference, "cublasLtMatmulPreferenceDestroy") &&
               library.find(set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
               library.find(suggest, "cublasLtMatmulAlgoGetHeuristic") &&
               library.find(multiply, "cublasLtMatmul");
  }
};

const Functions& functions() {
  static const Library library({fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR)});
  static const Functions all(library);
  return all;
}

void require(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) fail("cuBLASLt: {} gave status {}", what, static_cast<int>(status));
}

struct Types {
  cudaDataType_t stored, scale;
  cublasComputeType_t compute;
  std::size_t bytes;
};

Types types_of(Unit unit) {
  switch (unit) {
    case Unit::fp64:
    case Unit::fp64_tensor:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8};
    case Unit::fp16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2};
    case Unit::bf16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2};
    case Unit::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4};
    default:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4};
  }
}

class Product final : public LibraryProduct {
 public:
  Product(Unit unit, std::int64_t side, Stopwatch& watch) : Product(types_of(unit), side, watch.stream()) {
    const std::size_t bytes = static_cast<std::size_t>(side * side) * types_.bytes;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      matrices_[i] = watch.device().allocate(bytes);
      fill_random(unit, matrices_[i].data(), side * side, static_cast<unsigned>(i), stream_);
    }
    workspace_ = watch.device().allocate(kWorkspace);
    const auto extent = static_cast<std::uint64_t>(side);
    require(lt_.create(&handle_), "cublasLtCreate");
    require(lt_.describe(&description_, types_.compute, types_.scale), "cublasLtMatmulDescCreate");
    const cublasOperation_t transposed = CUBLAS_OP_T;  // both along k, the library's fastest case
    require(lt_.set(description_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "TRANSA");
    require(lt_.lay_out(&layout_, types_.stored, extent, extent, side), "cublasLtMatrixLayoutCreate");
    choose(watch);
  }
  ~Product() override {
    if (layout_ != nullptr) lt_.forget_layout(layout_);
    if (description_ != nullptr) lt_.forget(description_);
    if (handle_ != nullptr) lt_.destroy(handle_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void launch() override { require(multiply(algorithm_), "cublasLtMatmul"); }
  double flops() const override {
    return 2.0 * static_cast<double>(side_ * side_) * static_cast<double>(side_);
  }

 private:
  // A delegated constructor, so that the destructor runs if the public one throws.
  Product(Types types, std::int64_t side, cudaStream_t stream)
      : types_(types), side_(side), stream_(stream) {}

  void choose(Stopwatch& watch) {
    cublasLtMatmulPreference_t preference = nullptr;
    require(lt_.prefer(&preference), "cublasLtMatmulPreferenceCreate");
    std::array<cublasLtMatmulHeuristicResult_t, 8> found{};
    int count = 0;
    cublasStatus_t status = lt_.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspace, sizeof kWorkspace);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = lt_.suggest(handle_, description_, layout_, layout_, layout_, layout_, preference,
                           static_cast<int>(found.size()), found.data(), &count);
    lt_.forget_preference(preference);
    require(status, "cublasLtMatmulAlgoGetHeuristic");
    double least = 0;
    for (int i = 0; i < count; ++i) {
      const auto& algorithm = found[static_cast<std::size_t>(i)].algo;
      if (multiply(algorithm) != CUBLAS_STATUS_SUCCESS) continue;
      const double seconds = watch.seconds([&] { multiply(algorithm); });
      if (least > 0 && seconds >= least) continue;
      least = seconds;
      algorithm_ = algorithm;
    }
    if (least <= 0) fail("cuBLASLt: none of its {} suggestions ran", count);
  }

  cublasStatus_t multiply(const cublasLtMatmulAlgo_t& algorithm) {
    const double one = 1, zero = 0;
    const float one32 = 1, zero32 = 0;
    const bool wide = types_.scale == CUDA_R_64F;
    return lt_.multiply(handle_, description_, wide ? static_cast<const void*>(&one) : &one32,
                        matrices_[0].data(), layout_, matrices_[1].data(), layout_,
                        wide ? static_cast<const void*>(&zero) : &zero32, matrices_[2].data(), layout_,
                        matrices_[2].data(), layout_, &algorithm, workspace_.data(), kWorkspace, stream_);
  }

  const Functions& lt_ = functions();
  Types types_;
  std::int64_t side_;
  cudaStream_t stream_;
  std::array<Buffer, 3> matrices_;
  Buffer workspace_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace

std::unique_ptr<LibraryProduct> library_product(Unit unit, std::int64_t side, Stopwatch& watch) {
  if (!functions().complete) return nullptr;
  try {
    return std::make_unique<Product>(unit, side, watch);
  } catch (const Error&) {  // our own loops remain
    return nullptr;
  }
}

}  // namespace headroom::cuda
