#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "data/resize.h"

namespace headroom {

// Labelled images as stored: bytes, channel by channel.
struct Split {
  Shape image;                       // channels x height x width
  std::vector<std::uint8_t> pixels;  // count x image
  std::vector<std::uint8_t> labels;  // count
  std::vector<float> values;         // instead of pixels: input values for the network, used unchanged
  // Instead of all of these: bytes; image[0] of them make an item. The label of each byte is the next byte.
  std::vector<std::uint8_t> text;
  // Numbers to be learned instead of labels: rows of targets_each. The labels are zeros then.
  std::vector<float> targets = {};
  std::int64_t targets_each = 0;
  std::int64_t count() const {
    if (!text.empty()) return (static_cast<std::int64_t>(text.size()) - 1) / image[0];
    return static_cast<std::int64_t>(labels.size());
  }
  // Labels or targets per item.
  std::int64_t labels_each() const { return !text.empty() ? image[0] : targets_each > 0 ? targets_each : 1; }
};

inline constexpr int kMaxClasses = 256;  // a label is a byte
inline constexpr std::int64_t kUsualContext = 128;

// Where files do not say which items are for testing, these are.
inline constexpr std::int64_t kTestEvery = 10;
inline bool is_for_testing(std::int64_t item) { return item % kTestEvery == kTestEvery - 1; }

struct Dataset {
  std::string name;
  int classes = 0;  // or targets per item
  Split train, test;
  std::vector<std::string> class_names;  // by label; empty if there are no names
};

struct DataOptions {
  std::filesystem::path dir;    // empty: $HEADROOM_DATA, then the cache
  std::int64_t train_size = 0;  // 0: all; more than available is an error
  std::int64_t test_size = 0;
  bool test_alone = false;  // published sets: files of training images are not read, and need not be there
  std::int64_t validation_tail = 0;      // > 0: this many of the last training images replace the test set
  std::int64_t image_size = 0;           // pixels per side, or rows; 0: as stored
  std::int64_t image_width = 0;          // columns, if different from the rows
  ResizeRule resize = ResizeRule::edge;  // glyphs are drawn at the right size and need no rule
  std::uint64_t seed = 0;                // glyphs: a different seed draws a different set
  std::int64_t context = 0;              // text: bytes of one item; 0: kUsualContext
};

// A name of known_datasets(), with its argument after a colon. Errors name the file, what is wrong with it
// and what to try.
Dataset load_dataset(std::string_view spec, const DataOptions& options);

// "64" or "48x64" into options.image_size and image_width.
void parse_image_size(std::string_view text, DataOptions& options);

}  // namespace headroom
