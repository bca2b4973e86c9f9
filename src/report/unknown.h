#pragma once

// What of a network from a file is not known here: costs are told without it, and never without saying so.

#include <string>

#include "base/json.h"
#include "train/program.h"

namespace headroom {

std::string ports_text(const Net& net, const Program& program);  // inputs and outputs by name
std::string unknown_text(const Program& program);                // empty where all is known
void add_unknown(Json& json, const Program& program);            // nothing where all is known

}  // namespace headroom
