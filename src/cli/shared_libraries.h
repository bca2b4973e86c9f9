#pragma once

#include <string>
#include <vector>

namespace headroom::cli {

// The path from which the loader would take a library, without loading it, which can take a fifth of a
// second. Searches LD_LIBRARY_PATH, the loader's cache and the standard folders. Empty if not found.
std::string find_shared_library(const std::string& name);

// Loads it as the program would. Empty on success, else the loader's message.
std::string why_not_loaded(const std::string& path);

}  // namespace headroom::cli
