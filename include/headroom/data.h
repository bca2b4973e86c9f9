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
  std::int64_t train_size = 0;  // the first so many; 0: all
  std::int64_t test_size = 0;
  std::string image_size;    // "32" or "48x64": images are resized (glyphs drawn) to it; empty: as they are
  std::string pixels;        // "raw" (0 to 255), "scaled" (0 to 1), "normalized"; empty: normalized
  std::string normalize;     // "mean,deviation" or "r,g,b/r,g,b" instead of the data set's own
  std::uint64_t seed = 0;    // glyphs: another set of the same kind
  std::int64_t context = 0;  // text: bytes of one item, as many as the network takes; 0: 128
};

// Labelled items in the caller's memory: pixels, one byte each and channel by channel, or values that go to
// the network as they are; one of the two. Without labels all are of class 0, which is enough for a network
// that reconstructs its input.
struct Items {
  std::span<const std::uint8_t> pixels;
  std::span<const float> values;
  std::span<const std::uint8_t> labels;
};

struct ItemSettings {
  std::string name = "data";  // in messages
  int classes = 0;            // 0: the largest label and one more
  std::string pixels;         // as above, where there are pixels; normalized is by a half and a half here
  std::string normalize;
};

// Training and test items, and how they are prepared for a network. A handle: copies share the data, which
// never change.
class Data {
 public:
  struct Impl;
  explicit Data(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  const std::string& name() const;
  const std::vector<std::int64_t>& shape() const;  // of one item
  int classes() const;
  std::vector<std::string> class_names() const;  // empty where nobody named them
  std::int64_t train_count() const;
  std::int64_t test_count() const;
  std::span<const std::uint8_t> test_pixels() const;  // as they are stored; empty where data are floats
  std::span<const std::uint8_t> test_labels() const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// A name from `headroom data list`, with what it takes after a colon: "glyphs", "mnist", "images:DIR".
Data load_data(const std::string& name, const DataSettings& settings = {});

// From memory, which is copied. `shape` is that of one item: channels, height, width, or one number. `test`
// may be empty.
Data make_data(const std::vector<std::int64_t>& shape, const Items& train, const Items& test,
               const ItemSettings& settings = {});

}  // namespace headroom
