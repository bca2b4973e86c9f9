#include "data/image_folder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "data/image.h"
#include "data/targets.h"
#include "device/device.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLayout = "make one folder per class, with PNG and JPEG files in it";
constexpr const char* kTargets = "targets.csv";

using Class = std::vector<fs::path>;  // its pictures, sorted by name
using Classes = std::map<std::string, Class>;

struct Listed {
  fs::path path;
  std::uint8_t label;
};

// Entries by name; hidden ones (.DS_Store and so on) are skipped.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (!i->path().filename().string().starts_with(".")) paths.push_back(i->path());
  if (error) reject("cannot read the folder {}: {}", folder.string(), error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Classes list_classes(const fs::path& folder) {
  Classes classes;
  std::error_code ignored;
  for (const fs::path& path : entries_of(folder)) {
    if (!fs::is_directory(path, ignored))
      reject(Hint{kLayout}, "{} is beside the folders of the classes", path.string());
    Class& pictures = classes[path.filename().string()];
    for (const fs::path& picture : entries_of(path)) {
      if (fs::is_directory(picture, ignored))
        reject(Hint{kLayout}, "{} is a folder within a class", picture.string());
      if (!fs::is_regular_file(picture, ignored))
        reject(Hint{kLayout}, "cannot read {}: it is not a regular file", picture.string());
      pictures.push_back(picture);
    }
    if (pictures.empty()) reject(Hint{kLayout}, "the class folder {} is empty", path.string());
  }
  if (classes.empty()) reject(Hint{kLayout}, "{} does not hold a folder", folder.string());
  if (classes.size() > std::size_t{kMaxClasses})
    reject("{} holds {} classes; the max is {}", folder.string(), classes.size(), kMaxClasses);
  return classes;
}

// Interleaves the classes: the first picture of each, then the second of each, and so on.
std::vector<Listed> go_round(const Classes& classes) {
  std::vector<Listed> all;
  for (std::size_t i = 0, before = 1; before != all.size() || i == 0; ++i) {
    before = all.size();
    std::uint8_t label = 0;
    for (const auto& [name, pictures] : classes) {
      if (i < pictures.size()) all.push_back({pictures[i], label});
      ++label;
    }
  }
  return all;
}

struct Parts {
  Classes train, test;
};

Parts split_up(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    reject(Hint{kLayout}, "images: there is no folder {}", folder.string());
  if (fs::is_directory(folder / "train", ignored) && fs::is_directory(folder / "test", ignored)) {
    Parts parts{list_classes(folder / "train"), list_classes(folder / "test")};
    for (const auto& [name, pictures] : parts.test)
      if (!parts.train.contains(name))
        reject(Hint{"both must hold the same classes"}, "{} has a class '{}' that {} lacks",
               (folder / "test").string(), name, (folder / "train").string());
    for (const auto& [name, pictures] : parts.train) parts.test.try_emplace(name);  // keeps the labels equal
    return parts;
  }
  Parts parts;
  for (const auto& [name, pictures] : list_classes(folder)) {
    Class &train = parts.train[name], &test = parts.test[name];
    for (std::size_t i = 0; i < pictures.size(); ++i)
      (is_for_testing(static_cast<std::int64_t>(i)) ? test : train).push_back(pictures[i]);
  }
  return parts;
}

// The common properties of all pictures, read from their headers before any is decoded.
struct Common {
  PlaneSize size;
  int channels = 1;
  fs::path first;
  bool grey = false;  // colour becomes grey
};

void inspect(const std::vector<Listed>& pictures, bool resized, Common& common) {
  for (const Listed& picture : pictures) {
    const ImageHeader header = read_image_header(read_file(picture.path), picture.path.string());
    common.channels = std::max(common.channels, header.channels);
    if (common.first.empty()) common.first = picture.path, common.size = header.size;
    if (!resized && !(header.size == common.size))
      reject(Hint{"`image-size` S resizes all of them to SxS"}, "{} has {}x{} pixels, but {} has {}x{}",
             picture.path.string(), header.size.rows, header.size.columns, common.first.string(),
             common.size.rows, common.size.columns);
  }
}

Image decode(const fs::path& path, const Common& common) {
  const std::string bytes = read_file(path), name = path.string();
  if (!common.grey || read_image_header(bytes, name).channels == 1)
    return decode_image(bytes, name, common.channels);
  Image image = decode_image(bytes, name, 3);
  const std::size_t plane = image.pixels.size() / 3;
  for (std::size_t i = 0; i < plane; ++i)
    image.pixels[i] = static_cast<std::uint8_t>(std::lround(
        0.299 * image.pixels[i] + 0.587 * image.pixels[plane + i] + 0.114 * image.pixels[2 * plane + i]));
  image.pixels.resize(plane);
  return image;
}

Split decode(const std::vector<Listed>& pictures, std::size_t count, const Common& common, ResizeRule rule) {
  Split split;
  split.image = {common.channels, common.size.rows, common.size.columns};
  const double bytes = double(count) * double(split.image.numel());
  const double memory = double(cpu_capabilities(1).memory_bytes);
  if (bytes > memory / 2)
    reject(Hint{"ask for fewer or smaller images: `train-size`, `image-size`"},
           "{} images of {} would take {}; this machine has {}", count, split.image.str(), human_bytes(bytes),
           human_bytes(memory));
  const auto plane = static_cast<std::size_t>(common.size.rows * common.size.columns);
  split.pixels.resize(count * static_cast<std::size_t>(split.image.numel()));
  std::span<std::uint8_t> rest(split.pixels);
  for (std::size_t i = 0; i < count; ++i) {
    const Image image = decode(pictures[i].path, common);
    const std::size_t own = image.pixels.size() / std::size_t(common.channels);
    for (std::size_t c = 0; c < std::size_t(common.channels); ++c, rest = rest.subspan(plane)) {
      const auto from = std::span(image.pixels).subspan(c * own, own);
      if (image.size == common.size)
        std::copy(from.begin(), from.end(), rest.begin());
      else
        resize_plane(from, image.size, rest.first(plane), common.size, rule);
    }
    split.labels.push_back(pictures[i].label);
  }
  return split;
}

// Avoids decoding pictures that would be dropped later.
std::size_t needed(std::size_t there, std::int64_t asked, bool tail) {
  return asked == 0 || tail ? there : std::min(there, static_cast<std::size_t>(asked));
}

Dataset read_pictures(const std::vector<Listed>& train, const std::vector<Listed>& test,
                      const DataOptions& options) {
  Common common;
  const bool resized = options.image_size > 0, tail = options.validation_tail > 0;
  inspect(train, resized, common);
  inspect(test, resized, common);
  if (resized)
    common.size = {options.image_size, options.image_width == 0 ? options.image_size : options.image_width};
  Dataset set{.name = "images"};
  set.train = decode(train, needed(train.size(), options.train_size, tail), common, options.resize);
  set.test = decode(test, needed(test.size(), options.test_size, tail), common, options.resize);
  return set;
}

// Pictures with rows of targets.
struct Rows {
  std::vector<Listed> pictures;
  std::vector<float> targets;
};

void append(Rows& rows, const fs::path& folder, const TargetTable& table, std::size_t row) {
  const std::size_t each = table.names.size();
  const fs::path picture = folder / table.files[row];
  std::error_code ignored;
  if (!fs::is_regular_file(picture, ignored))
    reject(Hint{"its paths are relative to its folder"}, "{} names {}, which is not there",
           (folder / kTargets).string(), table.files[row]);
  rows.pictures.push_back({picture, 0});
  const auto first = table.values.begin() + static_cast<std::ptrdiff_t>(row * each);
  rows.targets.insert(rows.targets.end(), first, first + static_cast<std::ptrdiff_t>(each));
}

// A table beside the pictures, or one in each of the folders train and test.
Dataset read_with_targets(const fs::path& folder, const DataOptions& options) {
  const bool two = fs::exists(folder / "train" / kTargets);
  const fs::path own = two ? folder / "train" : folder;
  const TargetTable table = read_target_table(own / kTargets);
  Rows train, test;
  for (std::size_t row = 0; row < table.files.size(); ++row)
    append(!two && is_for_testing(static_cast<std::int64_t>(row)) ? test : train, own, table, row);
  if (two) {
    const TargetTable more = read_target_table(folder / "test" / kTargets);
    if (more.names != table.names)
      reject(Hint{"both must have the same columns"}, "{} has other targets than {}",
             (folder / "test" / kTargets).string(), (own / kTargets).string());
    for (std::size_t row = 0; row < more.files.size(); ++row) append(test, folder / "test", more, row);
  }
  if (test.pictures.empty() && options.validation_tail == 0)
    reject(Hint{"list ten pictures or more, or make the folders train and test"},
           "{} leaves no picture for testing, which takes every tenth", (own / kTargets).string());
  Dataset set = read_pictures(train.pictures, test.pictures, options);
  set.classes = static_cast<int>(table.names.size()), set.class_names = table.names;
  for (auto [split, rows] : {std::pair(&set.train, &train), std::pair(&set.test, &test)}) {
    split->targets_each = set.classes;
    rows->targets.resize(static_cast<std::size_t>(split->count() * set.classes));
    split->targets = std::move(rows->targets);
  }
  return set;
}

}  // namespace

Dataset read_image_folder(const fs::path& folder, const DataOptions& options) {
  if (fs::exists(folder / kTargets) || fs::exists(folder / "train" / kTargets))
    return read_with_targets(folder, options);
  const Parts parts = split_up(folder);
  const std::vector<Listed> train = go_round(parts.train), test = go_round(parts.test);
  const bool tail = options.validation_tail > 0;
  if (test.empty() && !tail)
    reject(Hint{"give each class ten pictures or more, or make the folders train and test"},
           "{} leaves no picture for testing, which takes every tenth of a class", folder.string());
  Dataset set = read_pictures(train, test, options);
  set.classes = static_cast<int>(parts.train.size());
  for (const auto& [name, pictures] : parts.train) set.class_names.push_back(name);
  return set;
}

Split read_outside_images(const fs::path& folder, const Dataset& data, ResizeRule rule) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    reject(Hint{kLayout}, "images: there is no folder {}", folder.string());
  if (data.test.image.rank() != 3)
    reject("pictures are for networks that learn from pictures, not from '{}'", data.name);
  std::vector<std::string> known = data.class_names;
  for (int label = static_cast<int>(known.size()); label < data.classes; ++label)
    known.push_back(std::to_string(label));
  const Classes classes = list_classes(folder);
  std::vector<std::uint8_t> labels;  // of the data, by the folder's own
  for (const auto& [name, pictures] : classes) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      reject(nearest(name, known), "{}: the data set '{}' has no class '{}'", folder.string(), data.name,
             name);
    labels.push_back(static_cast<std::uint8_t>(found - known.begin()));
  }
  std::vector<Listed> pictures = go_round(classes);
  for (Listed& picture : pictures) picture.label = labels[picture.label];
  const Common common{.size = {data.test.image[1], data.test.image[2]},
                      .channels = static_cast<int>(data.test.image[0]),
                      .first = {},
                      .grey = data.test.image[0] == 1};
  return decode(pictures, pictures.size(), common, rule);
}

}  // namespace headroom
