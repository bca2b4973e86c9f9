#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct TarEntry {
  std::string name;        // as in the archive, with folders
  std::string_view bytes;  // within the archive
};

// The regular files of an archive in ustar format. Checks every header's sum and every length; skips folders
// and links. `where` names the archive in error messages.
std::vector<TarEntry> read_tar(std::string_view archive, std::string_view where);

}  // namespace headroom
