#include "profile/resources.h"

#include <sys/resource.h>

namespace headroom {

Resources process_resources() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime), std::int64_t{usage.ru_maxrss} * 1024};
}

}  // namespace headroom
