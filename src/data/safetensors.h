#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/shape.h"

namespace headroom {

struct NamedTensor {
  std::string name;
  TensorType type;
  std::vector<std::byte> bytes;  // row-major, little-endian
};

struct TensorFile {
  std::vector<NamedTensor> tensors;  // in file order
  std::map<std::string, std::string> metadata;
};

// The published format: u64 header length, JSON header, data. Written under another name and renamed, wide
// element types first so that each tensor is aligned. Reading checks every offset.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);
TensorFile read_safetensors(const std::filesystem::path& path);
// The metadata alone: reads the header, not the tensors.
std::map<std::string, std::string> read_safetensors_metadata(const std::filesystem::path& path);

}  // namespace headroom
