#pragma once

#include <filesystem>
#include <string>

#include "data/safetensors.h"

namespace headroom {

// NumPy's file of one array, format versions 1 to 3. Reads either byte order and either order of axes; the
// result is row-major and little-endian, without a name. Checks every length against the file's.
NamedTensor read_npy(const std::filesystem::path& path);

// Writes the same as numpy.save, under another name, then renames. NumPy has no bfloat16: such values become
// float32, which holds them exactly. `narrow` is NumPy's name of an integer type that we hold in a wider one
// ("i2", "u2", "u4", "u8"): int32 or int64 are written so if every number fits.
void write_npy(const std::filesystem::path& path, const NamedTensor& tensor, std::string_view narrow = {});
std::string npy_bytes(const NamedTensor& tensor, std::string_view narrow = {});

}  // namespace headroom
