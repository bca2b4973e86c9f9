#include "data/text.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"

namespace headroom {
namespace {

// Keeps the first N items, and one more byte: the label of the last.
void keep_items(Split& split, std::int64_t items, const char* what) {
  if (items == 0) return;
  if (items > split.count())
    reject(Hint{fmt::format("take at most {}", with_commas(split.count()))},
           "{} {} items of {} bytes were requested, but there are only {}", with_commas(items), what,
           split.image[0], with_commas(split.count()));
  split.text.resize(static_cast<std::size_t>(items * split.image[0] + 1));
}

}  // namespace

Dataset read_text(const std::filesystem::path& file, const DataOptions& options) {
  const std::int64_t context = options.context == 0 ? kUsualContext : options.context;
  if (context < 1) reject("text cannot be split into items of {} bytes", context);
  if (options.image_size != 0) reject("`image-size` is for images; text has none");
  const std::string bytes = read_file(file);
  const auto size = static_cast<std::int64_t>(bytes.size()), tail = options.validation_tail * context;
  const std::int64_t test = tail > 0 ? tail + 1 : std::max(size / 10, std::min(context + 1, size));
  const std::int64_t train = size - test;
  if (test < context + 1 || train < context + 1)
    reject(Hint{fmt::format("take a longer text, or a shorter context: gpt2:context={}",
                            std::max<std::int64_t>(1, size / 10 - 1))},
           "{} has {} bytes; training and test need at least {} each, an item and the byte after it",
           file.string(), with_commas(size), with_commas(context + 1));
  Dataset set{.name = "text"};
  for (const char byte : bytes) set.classes = std::max(set.classes, 1 + static_cast<unsigned char>(byte));
  set.train.image = set.test.image = Shape{context};
  set.train.text.assign(bytes.begin(), bytes.begin() + train);
  set.test.text.assign(bytes.begin() + train, bytes.end());
  keep_items(set.train, options.train_size, "training");
  keep_items(set.test, options.test_size, "test");
  return set;
}

}  // namespace headroom
