#include "data/idx.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "data/gzip.h"

namespace headroom {
namespace {

constexpr std::uint32_t kImagesMagic = 0x803, kLabelsMagic = 0x801;
constexpr std::int64_t kMaxImages = 100'000'000, kWidest = 16384;

const Hint kFetchFileAgain{"fetch the file again"};

std::uint32_t word(std::string_view bytes, std::size_t index) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[4 * index + i]);
  return value;
}

std::string_view kind_of(std::uint32_t magic) {
  if (magic == kImagesMagic) return "an IDX image file";
  if (magic == kLabelsMagic) return "an IDX label file";
  return "not an IDX file of bytes";
}

void require_header(std::string_view bytes, std::string_view where, std::uint32_t magic, std::size_t words) {
  if (bytes.size() >= 4 && word(bytes, 0) != magic)
    reject(Hint{"images begin with 0x00000803, labels with 0x00000801; were the two files swapped?"},
           "{} begins with 0x{:08x}: {}, but {} was expected", where, word(bytes, 0), kind_of(word(bytes, 0)),
           kind_of(magic));
  if (bytes.size() < 4 * words)
    reject(kFetchFileAgain, "{} is truncated: {} bytes, but the IDX header alone takes {}", where,
           bytes.size(), 4 * words);
}

void require_extent(std::int64_t value, std::int64_t most, std::string_view what, std::string_view where) {
  if (value == 0) reject(kFetchFileAgain, "{} claims to hold 0 {}", where, what);
  if (value > most)
    reject(kFetchFileAgain, "{} claims {} {}; the max is {}, so the file is damaged", where,
           with_commas(value), what, with_commas(most));
}

void require_body(std::string_view bytes, std::string_view where, std::size_t header, std::int64_t body) {
  const auto there = static_cast<std::int64_t>(bytes.size() - header);
  if (there == body) return;
  reject(kFetchFileAgain, "{} is {}: {} bytes follow the header, which announces {}", where,
         there < body ? "truncated" : "too long", with_commas(there), with_commas(body));
}

std::vector<std::uint8_t> bytes_from(std::string_view bytes, std::size_t start) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(start), bytes.end()};
}

// The size that a header announces; 0 if it is not a sound header.
std::int64_t announced_bytes(std::string_view start) {
  if (start.size() < 8) return 0;
  const std::int64_t count = word(start, 1);
  if (count > kMaxImages) return 0;
  if (word(start, 0) == kLabelsMagic) return 8 + count;
  if (start.size() < 16 || word(start, 0) != kImagesMagic) return 0;
  const std::int64_t rows = word(start, 2), columns = word(start, 3);
  return rows > kWidest || columns > kWidest ? 0 : 16 + count * rows * columns;
}

// A few kilobytes can inflate to gigabytes. So the header decides how much is inflated; without a sound one
// the start is enough for the message.
std::string contents(const std::filesystem::path& path) {
  std::string bytes = read_file(path);
  if (!is_gzip(bytes)) return bytes;
  constexpr std::size_t kHeader = 16;
  std::string start = gunzip_start(bytes, kHeader);
  const std::int64_t announced = announced_bytes(start);
  if (announced == 0 && start.size() == kHeader) return start;
  if (announced > max_file_bytes())
    reject(kFetchFileAgain, "{} announces {}, more than half of the memory here", path.string(),
           human_bytes(double(announced)));
  return gunzip(bytes, path.string(), std::max<std::int64_t>(announced, kHeader));
}

}  // namespace

IdxImages parse_idx_images(std::string_view bytes, std::string_view where) {
  require_header(bytes, where, kImagesMagic, 4);
  IdxImages images{.count = word(bytes, 1), .height = word(bytes, 2), .width = word(bytes, 3)};
  require_extent(images.count, kMaxImages, "images", where);
  require_extent(images.height, kWidest, "rows per image", where);
  require_extent(images.width, kWidest, "columns per image", where);
  require_body(bytes, where, 16, images.count * images.height * images.width);
  images.pixels = bytes_from(bytes, 16);
  return images;
}

std::vector<std::uint8_t> parse_idx_labels(std::string_view bytes, std::string_view where, int classes) {
  require_header(bytes, where, kLabelsMagic, 2);
  const std::int64_t count = word(bytes, 1);
  require_extent(count, kMaxImages, "labels", where);
  require_body(bytes, where, 8, count);
  std::vector<std::uint8_t> labels = bytes_from(bytes, 8);
  const auto wrong = std::find_if(labels.begin(), labels.end(), [&](int label) { return label >= classes; });
  if (wrong != labels.end())
    reject(Hint{"is this the label file of another data set?"},
           "label {} of {} is {}, but there are only {} classes (0 to {})", wrong - labels.begin(), where,
           int{*wrong}, classes, classes - 1);
  return labels;
}

IdxImages read_idx_images(const std::filesystem::path& path) {
  return parse_idx_images(contents(path), path.string());
}

std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path, int classes) {
  return parse_idx_labels(contents(path), path.string(), classes);
}

Split read_idx_split(const std::filesystem::path& images, const std::filesystem::path& labels, int classes) {
  IdxImages read = read_idx_images(images);
  Split split;
  split.image = {1, read.height, read.width};
  split.pixels = std::move(read.pixels);
  split.labels = read_idx_labels(labels, classes);
  if (split.count() != read.count)
    reject(Hint{"take both files from the same source, and training files with training files"},
           "{} holds {} images but {} holds {} labels", images.string(), with_commas(read.count),
           labels.string(), with_commas(split.count()));
  return split;
}

}  // namespace headroom
