#pragma once

// The unknown parts of a network from a file. Costs leave them out, and every report says so.

#include <string>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "train/program.h"

namespace headroom {

std::string ports_text(const Net& net, const Program& program);  // inputs and outputs by name
// Empty if all is known.
std::string unknown_text(const Program& program, const TableView& view = {});
void add_unknown(Json& json, const Program& program);  // no effect if all is known

}  // namespace headroom
