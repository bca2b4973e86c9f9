#pragma once

// Factors of a problem as GPU kernels take them. In builds with CUDA.

#include "ops/integer_product/cuda.h"
#include "ops/kernel.h"

namespace headroom {

// Input i, which is followed by its zero points two inputs later; without addresses.
inline cuda::Bytes bytes_of(const Problem& p, std::size_t i) {
  return {nullptr, nullptr, p.inputs[i].dtype == DType::i8, p.inputs[i + 2].shape.numel() > 1};
}

inline cuda::Bytes at(cuda::Bytes bytes, const LaunchArgs& a, std::size_t i, std::int64_t offset = 0) {
  bytes.data = a.in<std::uint8_t>(i) + offset;
  bytes.zeros = a.inputs[i + 2];
  return bytes;
}

}  // namespace headroom
