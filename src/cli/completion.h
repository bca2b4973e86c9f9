#pragma once

#include <string>

#include "cli/command.h"

namespace headroom::cli {

// Scripts that complete the whole command line below `root`, which is the program's verb.
std::string bash_completion(const VerbTree& root);
std::string zsh_completion(const VerbTree& root);
std::string fish_completion(const VerbTree& root);

// Every verb with the path to it ("", "machine", "machine show"), outermost first.
struct VerbAt {
  std::string verbs;
  const VerbTree* tree;
};
std::vector<VerbAt> all_verbs(const VerbTree& root);

// The names of its options, only those with dashes.
std::vector<std::string> option_names(const VerbTree& verb);

}  // namespace headroom::cli
