#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct TarEntry {
  std::string name;        // as it stands in the archive, folders and all
  std::string_view bytes;  // within the archive
};

// The ordinary files of an archive in the ustar format. Checks every header's sum and every length; folders
// and links are passed over. `where` names the archive in error messages.
std::vector<TarEntry> read_tar(std::string_view archive, std::string_view where);

}  // namespace headroom
