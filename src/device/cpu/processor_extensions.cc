// Compiled for any processor (cmake/options.cmake): it runs before it is known what this one has.
#include "device/cpu/extensions.h"

namespace headroom {

ExtensionSet processor_extensions() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
#define HEADROOM_IS_HERE(name, macro, here) static_cast<bool>(here),
  const bool there[] = {HEADROOM_EXTENSIONS(HEADROOM_IS_HERE)};
  ExtensionSet set = 0, bit = 1;
  for (const bool one : there) set |= one ? bit : 0, bit <<= 1;
  return set;
}

}  // namespace headroom
