#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headroom {

// The checksum that data sets are published with, in 32 hexadecimal digits. Tells damage; no proof against
// malice.
std::string md5(std::string_view bytes);
std::string md5_of_file(const std::filesystem::path& path);  // without holding the file in memory

}  // namespace headroom
