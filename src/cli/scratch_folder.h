#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace headroom::cli {

// A folder for files that nobody needs later; it goes with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    const std::filesystem::path root = std::filesystem::temp_directory_path();
    std::string name = (root / "headroom-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      fail("cannot make a folder in {}: {}", root.string(), std::strerror(errno));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace headroom::cli
