#pragma once

#include <string>
#include <vector>

#include "base/sheet.h"
#include "cli/command.h"

namespace headroom::cli {

using Rows = std::vector<std::vector<std::string>>;

// A verb with `list` below it: a table for people, the same rows as JSON objects. Returns the verb.
Command add_list(Command app, const std::string& name, const std::string& about,
                 const std::vector<Column>& columns, Rows (*rows)());

}  // namespace headroom::cli
