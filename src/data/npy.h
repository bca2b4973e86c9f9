#pragma once

#include <filesystem>
#include <string>

#include "data/safetensors.h"

namespace headroom {

// NumPy's file of one array, format versions 1 to 3. Either byte order and either order of axes is read; what
// comes out is row-major and little-endian, without a name. Every length is checked against the file's.
NamedTensor read_npy(const std::filesystem::path& path);

// As numpy.save writes it, aside and renamed. NumPy has no bfloat16: such values are written as float32,
// which holds them exactly.
void write_npy(const std::filesystem::path& path, const NamedTensor& tensor);
std::string npy_bytes(const NamedTensor& tensor);

}  // namespace headroom
