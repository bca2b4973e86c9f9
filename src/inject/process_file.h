#pragma once

#include <filesystem>

#include "inject/records.h"

namespace headroom::inject {

// Rejects a file that the library did not write, or not to its end.
ProcessRecord read_process(const std::filesystem::path& path);

// Those of a folder, by rank, then in order of their first event.
std::vector<ProcessRecord> read_processes(const std::filesystem::path& folder);

}  // namespace headroom::inject
