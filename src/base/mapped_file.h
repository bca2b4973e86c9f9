#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace headroom {

// A file as memory: read on access, shared with the system's cache, unmapped with the last pointer to it.
struct MappedFile {
  std::shared_ptr<const std::byte> data;  // null if the file is empty
  std::size_t size = 0;
};

MappedFile map_file(const std::filesystem::path& path);  // rejects all but regular files, with the reason

}  // namespace headroom
