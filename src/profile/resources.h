#pragma once

#include <cstdint>

namespace headroom {

// Resources used by the process since its start.
struct Resources {
  double user_s = 0, system_s = 0;
  std::int64_t peak_rss_bytes = 0;
};
Resources process_resources();

}  // namespace headroom
