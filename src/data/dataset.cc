#include "data/dataset.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "data/arrays.h"
#include "data/cifar.h"
#include "data/glyphs.h"
#include "data/idx.h"
#include "data/image_folder.h"
#include "data/known_datasets.h"
#include "data/text.h"
#include "device/device.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kWidestImage = 16384;

Split read_idx(const std::vector<fs::path>& files, int classes) {
  return read_idx_split(files[0], files[1], classes);
}

void require_one_size(const Dataset& set, const fs::path& folder) {
  if (!(set.train.image == set.test.image))
    reject(Hint{"take all files from the same source"}, "{}: training images are {} but test images are {}",
           folder.string(), set.train.image.str(), set.test.image.str());
}

Dataset load_published(const DatasetInfo& info, const DataOptions& options) {
  const DatasetFiles files = find_dataset_files(info, options.dir, !options.test_alone);
  std::error_code ignored;
  if (!files.missing.empty())
    reject(elsewhere(info.name), "{}: {}",
           fs::is_directory(files.folder, ignored) ? info.name + " is not complete"
                                                   : "no " + info.name + " here",
           files.missing);
  Dataset set{.name = info.name, .classes = info.classes, .class_names = class_names_of(info.name)};
  const auto read = [&](const std::vector<fs::path>& list) {
    return info.name == "cifar10" ? read_cifar(list) : read_idx(list, info.classes);
  };
  set.test = read(files.test);
  if (files.train.empty()) {
    set.train.image = set.test.image;
    return set;
  }
  set.train = read(files.train);
  require_one_size(set, files.folder);
  return set;
}

// The files decide the labels: the largest one sets the number of classes.
Dataset load_idx_folder(const std::string& folder) {
  const DatasetFiles files = find_idx_files(folder);
  if (!files.missing.empty())
    reject(Hint{"headroom data make glyphs DIR writes such files"}, "idx:{}: {}", folder, files.missing);
  Dataset set{
      .name = "idx", .train = read_idx(files.train, kMaxClasses), .test = read_idx(files.test, kMaxClasses)};
  require_one_size(set, files.folder);
  for (const Split* split : {&set.train, &set.test})
    set.classes = std::max(set.classes, 1 + *std::max_element(split->labels.begin(), split->labels.end()));
  return set;
}

// Calls use(list, elements per item) for every list of the split that holds something.
template <class Use>
void each_list(const Split& split, Use&& use) {
  use(&Split::labels, std::int64_t{1});
  if (!split.pixels.empty()) use(&Split::pixels, split.image.numel());
  if (!split.values.empty()) use(&Split::values, split.image.numel());
  if (!split.targets.empty()) use(&Split::targets, split.targets_each);
}

void keep_first(Split& split, std::int64_t n, std::string_view what) {
  if (n == 0) return;
  if (n > split.count())
    reject(Hint{fmt::format("take at most {}", with_commas(split.count()))},
           "{} {} images were requested, but there are only {}", with_commas(n), what,
           with_commas(split.count()));
  each_list(split,
            [&](auto list, std::int64_t each) { (split.*list).resize(static_cast<std::size_t>(n * each)); });
}

void move_tail_to_test(Dataset& set, std::int64_t n) {
  if (n == 0) return;
  if (n >= set.train.count())
    reject(Hint{fmt::format("take at most {}", with_commas(set.train.count() - 1))},
           "{} validation images would leave nothing to train on: the training set has {}", with_commas(n),
           with_commas(set.train.count()));
  each_list(set.train, [&](auto list, std::int64_t each) {
    auto &train = set.train.*list, &test = set.test.*list;
    const auto first = train.end() - n * each;
    test.assign(first, train.end());
    train.erase(first, train.end());
  });
  set.test.targets_each = set.train.targets_each;
}

// Glyphs are drawn on request, so exactly as many are drawn as needed.
GlyphOptions glyph_options(const std::string& settings, const DataOptions& options) {
  const std::int64_t side = std::max(options.image_size, options.image_width);
  GlyphOptions glyphs{.size = side == 0 ? 28 : side, .seed = options.seed};
  for (const auto& [key, value] : parse_settings(settings, "setting of glyphs", "glyphs:size=32")) {
    if (key != "size")
      reject(nearest(key, std::vector<std::string>{"size"}), "glyphs has no setting '{}'", key);
    glyphs.size = parse_int(value, "glyphs:size");
  }
  if (options.train_size > 0) glyphs.train = options.train_size + options.validation_tail;
  if (options.validation_tail > 0) {
    glyphs.test = 0;
  } else if (options.test_size > 0) {
    glyphs.test = options.test_size;
  }
  const double count = double(glyphs.train) + double(glyphs.test);
  const double bytes = count * double(glyphs.size) * double(glyphs.size);
  const double memory = double(cpu_capabilities(1).memory_bytes);
  if (bytes > memory / 2)
    reject(Hint{"ask for fewer or smaller images"},
           "{:.0f} glyphs of {}x{} pixels would take {}; this machine has {}", count, glyphs.size,
           glyphs.size, human_bytes(bytes), human_bytes(memory));
  return glyphs;
}

void require_not_negative(const DataOptions& options) {
  for (const std::int64_t n : {options.train_size, options.test_size, options.validation_tail,
                               options.image_size, options.image_width})
    if (n < 0) reject("a data set cannot have a negative number of images or pixels ({})", n);
}

Dataset read(const DatasetInfo& info, const std::string& settings, const DataOptions& options) {
  if (info.name == "glyphs") return make_glyphs(glyph_options(settings, options));
  if (info.name == "text") {
    if (settings.empty()) reject(Hint{"write `data` text:FILE"}, "'text' does not name a file");
    return read_text(settings, options);
  }
  if (info.name == "npy") return read_arrays(settings);
  if (info.name == "images" || info.name == "idx") {
    if (settings.empty())
      reject(Hint{fmt::format("write `data` {}:DIR", info.name)}, "'{}' does not name a folder", info.name);
    return info.name == "idx" ? load_idx_folder(settings) : read_image_folder(settings, options);
  }
  if (settings.empty()) return load_published(info, options);
  if (info.name == "cifar10") return read_cifar_file(settings);
  reject(Hint{fmt::format("write `data` {}", info.name)}, "`data` is '{0}:{1}': {0} takes no settings",
         info.name, settings);
}

PlaneSize wanted_size(const Dataset& set, const DataOptions& options) {
  if (options.image_size == 0) return {set.train.image[1], set.train.image[2]};
  return {options.image_size, options.image_width == 0 ? options.image_size : options.image_width};
}

}  // namespace

Dataset load_dataset(std::string_view spec, const DataOptions& options) {
  const std::string name(spec.substr(0, spec.find(':')));
  const std::string settings(spec.size() == name.size() ? "" : spec.substr(name.size() + 1));
  const auto& known = known_datasets();
  const auto info = std::find_if(known.begin(), known.end(), [&](auto& one) { return one.name == name; });
  if (info == known.end()) reject(nearest(name, dataset_names()), "there is no data set '{}'", name);
  require_not_negative(options);
  Dataset set = read(*info, settings, options);
  if (!set.train.text.empty()) return set;
  if (set.class_names.empty()) set.class_names = class_names_of(set.name);
  move_tail_to_test(set, options.validation_tail);
  if (set.train.count() > 0) keep_first(set.train, options.train_size, "training");
  keep_first(set.test, options.test_size, "test");
  if (!set.train.values.empty() && options.image_size > 0)
    reject(Hint{"leave `image-size` out"}, "data set '{}' has values, not pixels: they are not resized",
           set.name);
  const PlaneSize size = wanted_size(set, options);
  resize_images(set.train, size, options.resize);
  resize_images(set.test, size, options.resize);
  return set;
}

void parse_image_size(std::string_view text, DataOptions& options) {
  const std::vector<std::string> parts = split(text, 'x');
  if (parts.size() > 2)
    reject(Hint{"write `image-size` 64, or 48x64 for rows x columns"}, "`image-size` is '{}'", text);
  options.image_size = parse_int(parts[0], "`image-size`");
  options.image_width = parts.size() == 2 ? parse_int(parts[1], "`image-size`") : 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const std::int64_t n = i == 0 ? options.image_size : options.image_width; n < 1 || n > kWidestImage)
      reject("`image-size` is '{}'; it must be 1 to {} pixels per side", text, kWidestImage);
  if (options.image_width == options.image_size) options.image_width = 0;
}

}  // namespace headroom
