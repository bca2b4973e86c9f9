#pragma once

#include <filesystem>
#include <string>

#include "data/safetensors.h"

namespace headroom {

// NumPy's file of one array, format versions 1 to 3. Reads either byte order and either order of axes; the
// result is row-major and little-endian, without a name. Checks every length against the file's.
NamedTensor read_npy(const std::filesystem::path& path);

// Writes the same as numpy.save, under another name, then renames. NumPy has no bfloat16: such values become
// float32, which holds them exactly.
void write_npy(const std::filesystem::path& path, const NamedTensor& tensor);
std::string npy_bytes(const NamedTensor& tensor);

}  // namespace headroom
