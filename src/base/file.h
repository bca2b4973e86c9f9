#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headroom {

// Whole file as bytes; an Error names the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

// Writes beside the target, syncs and renames: the target is either the old file or the whole new one.
// Devices and pipes are written in place.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Fails now rather than after an hour's work: can write_file put a file here? Tries, and leaves nothing
// behind.
void require_writable(const std::filesystem::path& path);

// Where measured machines and downloads are kept: $HEADROOM_CACHE, $XDG_CACHE_HOME/headroom,
// ~/.cache/headroom.
std::filesystem::path cache_dir();

}  // namespace headroom
