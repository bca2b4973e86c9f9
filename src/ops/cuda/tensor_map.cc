#include "ops/cuda/tensor_map.h"

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "device/cuda/check.h"
#include "ops/cuda/wgmma_layout.h"
#include "ops/product/wgmma.h"

namespace headroom::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// The function is the driver's, and the program is not linked with the driver.
Encode encoder() {
  static const Encode found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    HEADROOM_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                         cudaEnableDefault, &result));
#else
    HEADROOM_CUDA_CHECK(
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &result));
#endif
    if (result != cudaDriverEntryPointSuccess || function == nullptr)
      throw Error(Blame::run, "the driver has no cuTensorMapEncodeTiled",
                  Hint{"install a driver for CUDA 12.0 or later, or choose `kernel` matmul=cuda:tiles"});
    return reinterpret_cast<Encode>(function);
  }();
  return found;
}

CUtensorMapDataType type_of(DType dtype, bool rounded) {
  switch (dtype) {
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    default:
      return rounded ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
}

CUtensorMap encode(const MatrixMap& m, const void* data) {
  const cuuint64_t bytes = m.dtype == DType::f32 ? 4 : 2;
  const auto wide = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  const cuuint64_t extents[3] = {wide(m.columns), wide(m.rows), wide(m.count)};
  const cuuint64_t strides[2] = {wide(m.ld) * bytes, wide(m.count > 1 ? m.stride : m.rows * m.ld) * bytes};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(kLineBytes / bytes), static_cast<cuuint32_t>(m.box_rows),
                             1};
  const cuuint32_t steps[3] = {1, 1, 1};
  CUtensorMap map{};
  const CUresult result =
      encoder()(&map, type_of(m.dtype, m.rounded), 3, const_cast<void*>(data), extents, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    fail(
        "the driver cannot map {} matrices of {} x {} at {} (error {}): addresses must be multiples of 16 "
        "bytes",
        m.count, m.rows, m.columns, data, static_cast<int>(result));
  return map;
}

}  // namespace

const CUtensorMap& PlacedMap::at(const void* data) {
  if (data != data_) {
    map_ = encode(matrix_, data);
    data_ = data;
  }
  return map_;
}

PlacedMap parts_map(bool along, std::int64_t side, std::int64_t k, std::int64_t ld, int parts, int box_rows) {
  const std::int64_t rows = along ? side : k;
  return PlacedMap({.dtype = DType::f16,
                    .columns = along ? k : side,
                    .rows = rows,
                    .ld = ld,
                    .count = parts,
                    .stride = rows * ld,
                    .box_rows = along ? box_rows : 64});
}

}  // namespace headroom::cuda
