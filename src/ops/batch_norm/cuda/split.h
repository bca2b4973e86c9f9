#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::cuda {

// Into how many parts the sums of a channel are cut: from the shape alone, so that neither the device nor the
// moment shows in the bits. Built everywhere: a plan asks for the workspace without a toolkit.
struct BatchNormSplit {
  bool columns = false;  // a matrix, read row by row
  int parts = 1;

  static constexpr std::int64_t kShortPlane = 16;
  static constexpr std::int64_t kManyBlocks = 2048;
  static constexpr std::int64_t kColumns = 32;  // of a block of the matrix
  static constexpr std::int64_t kMinRows = 64;  // of a part of the matrix

  BatchNormSplit() = default;
  BatchNormSplit(std::int64_t rows, std::int64_t channels, std::int64_t plane)
      : columns(plane < kShortPlane) {
    const std::int64_t across = columns ? (channels * plane + kColumns - 1) / kColumns : channels;
    const std::int64_t wished = (kManyBlocks + across - 1) / across;
    // A part of a channel should keep the eight warps of a block busy, each with a run or more.
    const std::int64_t limit = columns ? (rows + kMinRows - 1) / kMinRows : (rows * plane + 2047) / 2048;
    const std::int64_t count = wished < limit ? wished : limit;
    parts = static_cast<int>(count < 1 ? 1 : count > 64 ? 64 : count);
  }

  // Two sums for each part of each channel or column, then, for a matrix, the coefficients of each channel.
  std::size_t workspace(std::int64_t channels, std::int64_t plane) const {
    const std::int64_t sums = 2 * parts * channels * (columns ? plane : 1);
    return static_cast<std::size_t>(sums + (columns ? 4 * channels : 0)) * sizeof(double);
  }
};

// Of the kernels that read rows: two sums of each part of each channel, then four coefficients of each
// channel.
constexpr std::size_t norm_rows_sums(int parts, int channels) {
  return static_cast<std::size_t>(parts) * 2 * static_cast<std::size_t>(channels) * sizeof(double);
}
constexpr std::size_t norm_rows_bytes(int parts, int channels) {
  return norm_rows_sums(parts, channels) + static_cast<std::size_t>(channels) * 4 * sizeof(double);
}

}  // namespace headroom::cuda
