#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace headroom {

// The whole file as bytes; an Error names the path and the system's reason. Refuses what cannot be held:
// devices, files larger than half of the memory, pipes that stay silent or do not end.
std::string read_file(const std::filesystem::path& path);

// Half of the memory: more than this is not read into it.
std::int64_t max_file_bytes();

// The Error for a file that a system call could not open or read; errno says why.
[[noreturn]] void reject_unreadable(const std::filesystem::path& path);

// Writes to a second file, syncs and renames: the target is either the old file or the complete new one.
// Writes devices and pipes in place.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Fails now, not after an hour of work, if write_file cannot put a file here. Tries it and leaves nothing
// behind.
void require_writable(const std::filesystem::path& path);

// True if both paths lead to one file, which need not exist yet. Devices and pipes can take several texts.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// The folder for measured machines and downloads: $HEADROOM_CACHE, $XDG_CACHE_HOME/headroom,
// ~/.cache/headroom.
std::filesystem::path cache_dir();

}  // namespace headroom
