#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace headroom {

// The published binary records of CIFAR-10: a label, then 32x32 pixels of red, of green, of blue. Gzipped or
// plain, with any file name. Rejects files that are not a whole number of records, and wrong labels.
inline constexpr std::int64_t kCifarRecord = 1 + 3 * 32 * 32;

Split read_cifar(const std::vector<std::filesystem::path>& files);

// For parsing without a file: appends to `split`; `where` names the source in error messages.
void parse_cifar(std::string_view bytes, std::string_view where, Split& split);

// One file for both splits: the last tenth of the records (at least one) is the test set.
Dataset read_cifar_file(const std::filesystem::path& file);

}  // namespace headroom
