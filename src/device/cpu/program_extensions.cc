// Compiled like the rest of the program, whose compiler options it tells.
#include "device/cpu/extensions.h"

namespace headroom {

// A macro that is defined as 1 becomes the text "1", another one stays its own name.
#define HEADROOM_TEXT(macro) #macro
#define HEADROOM_IS_ON(name, macro, here) HEADROOM_TEXT(macro)[0] == '1',
constexpr bool kOn[] = {HEADROOM_EXTENSIONS(HEADROOM_IS_ON)};

constexpr ExtensionSet set_of_program() {
  ExtensionSet set = 0, bit = 1;
  for (const bool on : kOn) set |= on ? bit : 0, bit <<= 1;
  return set;
}

constinit const ExtensionSet program_extensions = set_of_program();

}  // namespace headroom
