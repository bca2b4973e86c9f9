#include "profile/call_names.h"

#include <algorithm>

namespace headroom {

// "cudaLaunchKernel_v7000" and "cuLaunchKernelEx_ptsz" are versions of the functions users know.
std::string call_without_version(std::string name) {
  for (const char* ending : {"_ptsz", "_ptds"})
    if (name.ends_with(ending)) name.resize(name.size() - 5);
  const std::size_t version = name.rfind("_v");
  if (version != std::string::npos && version + 2 < name.size() &&
      std::all_of(name.begin() + std::ptrdiff_t(version) + 2, name.end(),
                  [](char c) { return c >= '0' && c <= '9'; }))
    name.resize(version);
  return name;
}

}  // namespace headroom
