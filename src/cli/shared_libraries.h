#pragma once

#include <string>
#include <vector>

namespace headroom::cli {

// Where the loader would take a library from, without loading it: that alone can take a fifth of a second. By
// LD_LIBRARY_PATH, the loader's cache, the usual folders. Empty where it is nowhere.
std::string find_shared_library(const std::string& name);

// Loads it as the program would; empty where that works, else the loader's own words.
std::string why_not_loaded(const std::string& path);

}  // namespace headroom::cli
