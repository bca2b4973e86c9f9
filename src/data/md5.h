#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headroom {

// The checksum published with data sets, in 32 hexadecimal digits. Detects damage; does not protect against
// attacks.
std::string md5(std::string_view bytes);
std::string md5_of_file(const std::filesystem::path& path);  // does not load the whole file

}  // namespace headroom
