#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace headroom {

// Labelled images as they are stored: bytes, channel by channel.
struct Split {
  Shape image;                       // channels x height x width
  std::vector<std::uint8_t> pixels;  // count x image
  std::vector<std::uint8_t> labels;  // count
  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

struct Dataset {
  std::string name;
  int classes = 0;
  Split train, test;
};

struct DataOptions {
  std::filesystem::path dir;    // empty: $HEADROOM_DATA, then the cache
  std::int64_t train_size = 0;  // 0: all; more than there are is an error
  std::int64_t test_size = 0;
  std::int64_t validation_tail = 0;  // > 0: the last so many training images replace the test set
  std::int64_t image_size = 0;       // glyphs: pixels per side; 0 takes 28
  std::uint64_t seed = 0;            // glyphs: another set of the same kind
};

// "mnist", "fashion-mnist", "glyphs". Errors name the file, what is wrong with it and what to try.
Dataset load_dataset(std::string_view spec, const DataOptions& options);

struct DatasetInfo {
  std::string name, title, files;  // files: what has to lie where; "embedded" for glyphs
};
const std::vector<DatasetInfo>& known_datasets();

}  // namespace headroom
