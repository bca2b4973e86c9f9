#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace headroom::cli {

// What may stand where a value is wanted.
struct Values {
  std::vector<std::string> words;  // those there are; empty: none that can be listed
  bool files = false;              // a path may stand there
  bool list = false;               // several, with commas between
};

// By the verbs on the way ("machine show") and the option's name, so that an option of a known name is
// completed wherever it appears.
Values values_of(const std::string& verbs, const OptionTree& option);

}  // namespace headroom::cli
