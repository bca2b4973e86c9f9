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
  std::string name, title, files;  // files: what has to lie where; "embedded" for glyphs
  std::string folder;              // below the data folder; empty where the name says which files
  int classes = 0;                 // 0: as many as the files hold; likewise below
  Shape image;
  std::int64_t train = 0, test = 0;
};
const std::vector<DatasetInfo>& known_datasets();
std::vector<std::string> dataset_names();

// The names of the classes of "mnist", "fashion-mnist", "cifar10", "glyphs"; else empty.
std::vector<std::string> class_names_of(std::string_view dataset);

// `dir` itself, else $HEADROOM_DATA, else "data" in the cache.
std::filesystem::path data_folder(const std::filesystem::path& dir);

// The files a set is read from, or the first one that is missing. Their contents are not looked at.
struct DatasetFiles {
  std::vector<std::filesystem::path> train, test;  // idx: images, then labels
  std::filesystem::path folder;
  std::string missing;  // "holds neither X nor X.gz"; empty where all are there
};
DatasetFiles find_idx_files(const std::filesystem::path& folder);
DatasetFiles find_cifar10_files(const std::filesystem::path& folder);

// Of a set that has a folder of its own: mnist, fashion-mnist, cifar10.
DatasetFiles find_dataset_files(const DatasetInfo& info, const std::filesystem::path& dir);

// Says where data can come from instead.
Hint elsewhere(std::string_view dataset);

}  // namespace headroom
