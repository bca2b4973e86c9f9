#include "data/known_datasets.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/file.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// The plain file if it exists, else the gzipped one; otherwise records the first missing file in `files`.
fs::path find_file(const fs::path& folder, const std::string& stem, DatasetFiles& files) {
  std::error_code ignored;
  for (const char* ending : {"", ".gz"})
    if (const fs::path path = folder / (stem + ending); fs::is_regular_file(path, ignored)) return path;
  if (files.missing.empty())
    files.missing = fs::is_directory(folder, ignored)
                        ? fmt::format("{} holds neither {} nor {}.gz", folder.string(), stem, stem)
                        : fmt::format("there is no folder {}", folder.string());
  return {};
}

}  // namespace

const std::vector<DatasetInfo>& known_datasets() {
  static const std::string idx = "{train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz";
  static const std::vector<DatasetInfo> kKnown = {
      {"mnist", "handwritten digits", "DIR/mnist/" + idx, "mnist", 10, {1, 28, 28}, 60000, 10000},
      {"fashion-mnist",
       "articles of clothing",
       "DIR/fashion-mnist/" + idx,
       "fashion-mnist",
       10,
       {1, 28, 28},
       60000,
       10000},
      {"cifar10",
       "photographs of animals and vehicles",
       "DIR/cifar-10/{data_batch_1..5,test_batch}.bin, plain or .gz; cifar10:FILE",
       "cifar-10",
       10,
       {3, 32, 32},
       50000,
       10000},
      {"glyphs", "drawn digits, any size and number", "embedded", "", 10, {1, 28, 28}, 60000, 10000},
      {"images", "PNG and JPEG files, a folder for each class", "images:DIR", "", 0, {}, 0, 0},
      {"text", "bytes of any file, to be continued", "text:FILE", "", 256, {}, 0, 0},
      {"npy", "arrays of numbers: inputs and targets", "npy:INPUTS.npy,TARGETS.npy", "", 0, {}, 0, 0},
      {"idx", "any images in files named like MNIST's", "idx:DIR/" + idx, "", 0, {}, 0, 0},
  };
  return kKnown;
}

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const DatasetInfo& info : known_datasets()) names.push_back(info.name);
  return names;
}

std::vector<std::string> class_names_of(std::string_view dataset) {
  if (dataset == "mnist" || dataset == "glyphs") return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  if (dataset == "fashion-mnist")
    return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
            "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  if (dataset == "cifar10")
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  return {};
}

fs::path data_folder(const fs::path& dir) {
  if (!dir.empty()) return dir;
  if (const char* named = std::getenv("HEADROOM_DATA"); named != nullptr && *named != '\0') return named;
  return cache_dir() / "data";
}

DatasetFiles find_idx_files(const fs::path& folder, bool training) {
  DatasetFiles files{.folder = folder};
  for (const char* kind : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
    if (training) files.train.push_back(find_file(folder, std::string("train") + kind, files));
    files.test.push_back(find_file(folder, std::string("t10k") + kind, files));
  }
  return files;
}

DatasetFiles find_cifar10_files(const fs::path& folder, bool training) {
  // Unpacked from the published archive, with or without its inner folder.
  std::error_code ignored;
  const fs::path inner = folder / "cifar-10-batches-bin";
  DatasetFiles files{.folder = fs::is_directory(inner, ignored) ? inner : folder};
  for (int i = 1; training && i <= 5; ++i)
    files.train.push_back(find_file(files.folder, fmt::format("data_batch_{}.bin", i), files));
  files.test.push_back(find_file(files.folder, "test_batch.bin", files));
  return files;
}

DatasetFiles find_dataset_files(const DatasetInfo& info, const fs::path& dir, bool training) {
  const fs::path folder = data_folder(dir) / info.folder;
  return info.name == "cifar10" ? find_cifar10_files(folder, training) : find_idx_files(folder, training);
}

Hint elsewhere(std::string_view dataset) {
  return {
      fmt::format("headroom data fetch {} downloads it; name another folder with `data-dir` or "
                  "HEADROOM_DATA, or take `data` glyphs, which needs no download",
                  dataset)};
}

}  // namespace headroom
