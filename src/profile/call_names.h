#pragma once

#include <string>

namespace headroom {

std::string call_without_version(std::string name);  // "cudaLaunchKernel" of "cudaLaunchKernel_v7000"

}  // namespace headroom
