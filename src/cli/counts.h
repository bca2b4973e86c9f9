#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom::cli {

// "500k,1M,2000000" as numbers; k, M and G are thousands, millions and billions. `option` names the list in
// the message: "--elements".
std::vector<std::int64_t> parse_counts(std::string_view list, std::string_view option);

}  // namespace headroom::cli
