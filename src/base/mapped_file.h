#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace headroom {

// A file as memory: read when touched, shared with the system's cache, gone with the last pointer to it.
struct MappedFile {
  std::shared_ptr<const std::byte> data;  // null where the file is empty
  std::size_t size = 0;
};

MappedFile map_file(const std::filesystem::path& path);  // rejects what is no plain file, with the reason

}  // namespace headroom
