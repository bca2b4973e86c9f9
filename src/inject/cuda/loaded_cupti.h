#pragma once

#include <string>

#include "profile/cuda/cupti_library.h"

namespace headroom::inject {

// The functions of the CUPTI that the program has loaded already, else of the system's: two copies in one
// process disturb each other. Null if there is none that fits; `why_not` tells.
const Cupti* loaded_cupti(std::string& why_not);

}  // namespace headroom::inject
