#pragma once

#include <filesystem>

#include "report/profile.h"

namespace headroom {

// Writes the files of a profile into a folder: the record, the trace in our own format and for other
// programs, and every table as CSV.
void write_profile(const RunProfile& profile, const std::filesystem::path& folder, int trace_steps);

// Reads such a folder again.
RunProfile read_profile(const std::filesystem::path& folder);

}  // namespace headroom
