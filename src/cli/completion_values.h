#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace headroom::cli {

// The values allowed at one place.
struct Values {
  std::vector<std::string> words;  // known words; empty: none that can be listed
  bool files = false;              // a path is allowed
  bool list = false;               // several, separated by commas
  std::string inner = {};          // "models" or "kernels": the words below, once the word holds a : or a =
};

std::vector<std::string> model_option_words();  // "mlp:hidden=", "mlp:activation=relu"
std::vector<std::string> kernel_words();        // "linear=cpu:blas"

// Looks up by the verbs ("machine show") and the option's name, so that an option with a known name is
// completed under every verb.
Values values_of(const std::string& verbs, const OptionTree& option);

}  // namespace headroom::cli
