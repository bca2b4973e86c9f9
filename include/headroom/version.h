#pragma once

#include <string_view>

namespace headroom {

std::string_view version();       // "0.1.0"
std::string_view commit();        // abbreviated hash of the last commit; "unknown" outside git
std::string_view compiler();      // "GNU 12.2.0"
std::string_view build_type();    // "Release", "RelWithDebInfo address,undefined"
std::string_view cuda_version();  // of the toolkit, "13.0", or "none"

}  // namespace headroom
