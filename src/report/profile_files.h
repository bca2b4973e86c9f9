#pragma once

#include <filesystem>

#include "report/profile.h"

namespace headroom {

// Folders within that of a profile: what the processes of a program recorded, and what a second run counted.
inline constexpr const char *kProcessesFolder = "processes", *kCountedFolder = "counted";

// Writes the files of a profile into a folder: the record, the trace in our own format and for other
// programs, and every table as CSV. Files of an earlier profile that this one does not have are removed, and
// no others.
void write_profile(const RunProfile& profile, const std::filesystem::path& folder, int trace_steps);

// Reads such a folder again.
RunProfile read_profile(const std::filesystem::path& folder);

}  // namespace headroom
