#include "data/dataset.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "data/glyphs.h"
#include "data/idx.h"
#include "device/device.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kElsewhere =
    "name another folder with --data-dir or HEADROOM_DATA, or take --data glyphs, "
    "which needs no download";

fs::path data_dir(const DataOptions& options) {
  if (!options.dir.empty()) return options.dir;
  if (const char* named = std::getenv("HEADROOM_DATA"); named != nullptr && *named != '\0') return named;
  return cache_dir() / "data";
}

// The plain file if it is there, else the gzipped one.
fs::path find_idx(const fs::path& folder, const std::string& stem, const std::string& set) {
  std::error_code ignored;
  for (const char* ending : {"", ".gz"})
    if (const fs::path path = folder / (stem + ending); fs::is_regular_file(path, ignored)) return path;
  if (!fs::is_directory(folder, ignored))
    reject(Hint{kElsewhere}, "no {} here: there is no folder {}", set, folder.string());
  reject(Hint{kElsewhere}, "{} is not complete: {} holds neither {} nor {}.gz", set, folder.string(), stem,
         stem);
}

Dataset load_idx(const std::string& name, const DataOptions& options) {
  const fs::path folder = data_dir(options) / name;
  auto split_of = [&](const std::string& part) {
    return read_idx_split(find_idx(folder, part + "-images-idx3-ubyte", name),
                          find_idx(folder, part + "-labels-idx1-ubyte", name), 10);
  };
  Dataset set{.name = name, .classes = 10, .train = split_of("train"), .test = split_of("t10k")};
  if (!(set.train.image == set.test.image))
    reject(Hint{"take all four files from the same source"},
           "{}: training images are {} but test images are {}", folder.string(), set.train.image.str(),
           set.test.image.str());
  return set;
}

void keep_first(Split& split, std::int64_t n, std::string_view what) {
  if (n == 0) return;
  if (n > split.count())
    reject(Hint{fmt::format("take at most {}", with_commas(split.count()))},
           "{} {} images are wanted, but there are only {}", with_commas(n), what,
           with_commas(split.count()));
  split.labels.resize(static_cast<std::size_t>(n));
  split.pixels.resize(static_cast<std::size_t>(n * split.image.numel()));
}

void move_tail_to_test(Dataset& set, std::int64_t n) {
  if (n == 0) return;
  if (n >= set.train.count())
    reject(Hint{fmt::format("take at most {}", with_commas(set.train.count() - 1))},
           "{} validation images would leave nothing to train on: the training set has {}", with_commas(n),
           with_commas(set.train.count()));
  const auto labels = set.train.labels.end() - n;
  const auto pixels = set.train.pixels.end() - n * set.train.image.numel();
  set.test.labels.assign(labels, set.train.labels.end());
  set.test.pixels.assign(pixels, set.train.pixels.end());
  set.train.labels.erase(labels, set.train.labels.end());
  set.train.pixels.erase(pixels, set.train.pixels.end());
}

// Glyphs are drawn on request, so exactly as many are drawn as will be used.
GlyphOptions glyph_options(const std::string& settings, const DataOptions& options) {
  GlyphOptions glyphs{.size = options.image_size == 0 ? 28 : options.image_size, .seed = options.seed};
  for (const std::string& setting : settings.empty() ? std::vector<std::string>{} : split(settings, ',')) {
    const auto equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    if (key != "size")
      reject(nearest(key, std::vector<std::string>{"size"}), "glyphs has no setting '{}'", key);
    glyphs.size = parse_int(equals == std::string::npos ? "" : setting.substr(equals + 1), "glyphs:size");
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
  for (const std::int64_t n :
       {options.train_size, options.test_size, options.validation_tail, options.image_size})
    if (n < 0) reject("a data set cannot have {} images or pixels", n);
}

}  // namespace

Dataset load_dataset(std::string_view spec, const DataOptions& options) {
  const std::string name(spec.substr(0, spec.find(':')));
  const std::string settings(spec.size() == name.size() ? "" : spec.substr(name.size() + 1));
  std::vector<std::string> names;
  for (const DatasetInfo& info : known_datasets()) names.push_back(info.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    reject(nearest(name, names), "there is no data set '{}'", name);
  require_not_negative(options);
  if (name != "glyphs" && !settings.empty()) reject("{} takes no settings, so not '{}'", name, settings);
  Dataset set = name == "glyphs" ? make_glyphs(glyph_options(settings, options)) : load_idx(name, options);
  move_tail_to_test(set, options.validation_tail);
  keep_first(set.train, options.train_size, "training");
  keep_first(set.test, options.test_size, "test");
  return set;
}

const std::vector<DatasetInfo>& known_datasets() {
  static const std::string files = "{train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz";
  static const std::vector<DatasetInfo> kKnown = {
      {"mnist", "handwritten digits, 28x28, 60,000 + 10,000", "DIR/mnist/" + files},
      {"fashion-mnist", "articles of clothing, 28x28, 60,000 + 10,000", "DIR/fashion-mnist/" + files},
      {"glyphs", "drawn digits, any size, 60,000 + 10,000 unless told otherwise", "embedded"},
  };
  return kKnown;
}

}  // namespace headroom
