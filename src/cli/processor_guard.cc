// A program built for instructions that the processor does not have would end by a signal, without a word and
// perhaps before main(). This refusal comes first. Compiled for any processor (cmake/options.cmake), it calls
// only the C library.
#include <unistd.h>

#include <cstring>

#include "device/cpu/extensions.h"

namespace headroom::cli {
namespace {

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) ::_exit(2);
}

[[gnu::constructor(101)]] void refuse_lesser_processor() {  // 101: before constructors without a number
  const ExtensionSet missing = program_extensions & ~processor_extensions();
  if (missing == 0) return;
  say("headroom: this program was built for a processor with more instructions. This one lacks:");
  for (unsigned i = 0; i < sizeof(kExtensions) / sizeof(kExtensions[0]); ++i)
    if ((missing >> i & 1) != 0) say(" "), say(kExtensions[i]);
  say("\n  build it on this machine: cmake --preset release -DHEADROOM_NATIVE=ON");
  say("; for many processors: -DHEADROOM_NATIVE=OFF\n");
  ::_exit(2);
}

}  // namespace
}  // namespace headroom::cli
