#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

struct DataSettings {
  std::string dir;              // folder that holds mnist/ and so on; empty: $HEADROOM_DATA, then the cache
  std::int64_t train_size = 0;  // only the first N items; 0: all
  std::int64_t test_size = 0;
  std::string image_size;    // "32" or "48x64": images are resized (glyphs drawn) to it; empty: as they are
  std::string pixels;        // "raw" (0 to 255), "scaled" (0 to 1), "normalized"; empty: normalized
  std::string normalize;     // "mean,deviation" or "r,g,b/r,g,b" instead of the data set's own
  std::uint64_t seed = 0;    // glyphs: a different seed draws a different set
  std::int64_t context = 0;  // text: bytes of one item, equal to the network's input length; 0: 128
};

// Labelled items in the caller's memory. Fill one of the two: pixels (one byte each, channel by channel), or
// values that go to the network unchanged. Without labels every item has class 0; a network that reconstructs
// its input needs no more.
struct Items {
  std::span<const std::uint8_t> pixels;
  std::span<const float> values;
  std::span<const std::uint8_t> labels;
};

struct ItemSettings {
  std::string name = "data";  // in messages
  int classes = 0;            // 0: the largest label plus one
  std::string pixels;         // as above, for pixels; "normalized" means (x - 0.5) / 0.5 here
  std::string normalize;
};

// Training and test items, and how they are prepared for a network. This is a handle: copies share the data,
// which never changes.
class Data {
 public:
  struct Impl;
  explicit Data(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  const std::string& name() const;
  const std::vector<std::int64_t>& shape() const;  // of one item
  int classes() const;
  std::vector<std::string> class_names() const;  // empty if the data has no names
  std::int64_t train_count() const;
  std::int64_t test_count() const;
  std::span<const std::uint8_t> test_pixels() const;  // as stored; empty if the data is floats
  std::span<const std::uint8_t> test_labels() const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// A name from `headroom data list`, with its argument after a colon: "glyphs", "mnist", "images:DIR".
Data load_data(const std::string& name, const DataSettings& settings = {});

// Copies the items from memory. `shape` describes one item: channels, height, width, or one number. `test`
// may be empty.
Data make_data(const std::vector<std::int64_t>& shape, const Items& train, const Items& test,
               const ItemSettings& settings = {});

}  // namespace headroom
