#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace headroom {

// A table of items and the numbers to be learned for them: a header (file, then a name for each target), then
// a row per item.
struct TargetTable {
  std::vector<std::string> names;  // of the targets
  std::vector<std::string> files;
  std::vector<float> values;  // files.size() x names.size()
};
TargetTable read_target_table(const std::filesystem::path& path);

// Rejects a number of targets that no network could give.
void require_targets(std::int64_t each, const std::string& where);

// All targets are 0 or 1: they say which labels apply, rather than how much there is of something.
bool targets_are_labels(const Dataset& data);

}  // namespace headroom
