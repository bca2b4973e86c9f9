#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shape.h"

namespace headroom {

struct DatasetInfo {
  std::string name, title, files;  // files: required files and folders; "embedded" for glyphs
  std::string folder;              // below the data folder; empty if the name gives the files
  int classes = 0;                 // 0: as many as the files hold; the same below
  Shape image;
  std::int64_t train = 0, test = 0;
};
const std::vector<DatasetInfo>& known_datasets();
std::vector<std::string> dataset_names();

// The names of the classes of "mnist", "fashion-mnist", "cifar10", "glyphs"; else empty.
std::vector<std::string> class_names_of(std::string_view dataset);

// `dir` itself, else $HEADROOM_DATA, else "data" in the cache.
std::filesystem::path data_folder(const std::filesystem::path& dir);

// The files of a set, or the first missing one. Does not read them. Without `training` only those of the test
// images.
struct DatasetFiles {
  std::vector<std::filesystem::path> train, test;  // idx: images, then labels
  std::filesystem::path folder;
  std::string missing;  // "holds neither X nor X.gz"; empty if complete
};
DatasetFiles find_idx_files(const std::filesystem::path& folder, bool training = true);
DatasetFiles find_cifar10_files(const std::filesystem::path& folder, bool training = true);

// For sets with their own folder: mnist, fashion-mnist, cifar10.
DatasetFiles find_dataset_files(const DatasetInfo& info, const std::filesystem::path& dir,
                                bool training = true);

// Suggests other sources of data.
Hint elsewhere(std::string_view dataset);

}  // namespace headroom
