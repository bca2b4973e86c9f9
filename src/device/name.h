#pragma once

#include <string>
#include <string_view>

namespace headroom {

std::string device_name(std::string_view typed);  // "gpu:1" is "cuda:1"; other names stay as they are

}  // namespace headroom
