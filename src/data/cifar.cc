#include "data/cifar.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "data/gzip.h"
#include "data/known_datasets.h"

namespace headroom {
namespace {

constexpr int kClasses = 10;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;  // inflated: six times the whole set

const Hint kFetchAgain{
    "take CIFAR-10's binary version (cifar-10-binary.tar.gz), not the Python or Matlab one; "
    "headroom data fetch cifar10 downloads it"};

}  // namespace

void parse_cifar(std::string_view bytes, std::string_view where, Split& split) {
  const auto length = static_cast<std::int64_t>(bytes.size());
  if (length == 0) reject(kFetchAgain, "{} is empty", where);
  if (length % kCifarRecord != 0)
    reject(kFetchAgain, "{} is damaged: {} bytes are {} records of {} and {} bytes more", where,
           with_commas(length), with_commas(length / kCifarRecord), kCifarRecord, length % kCifarRecord);
  split.image = {3, 32, 32};
  const std::int64_t records = length / kCifarRecord;
  split.labels.reserve(split.labels.size() + static_cast<std::size_t>(records));
  split.pixels.reserve(split.pixels.size() + static_cast<std::size_t>(length - records));
  for (std::int64_t record = 0; record < records; ++record) {
    const std::string_view one = bytes.substr(static_cast<std::size_t>(record * kCifarRecord), kCifarRecord);
    const auto label = static_cast<std::uint8_t>(one[0]);
    if (label >= kClasses)
      reject(kFetchAgain, "record {} of {} has the label {}, but there are only {} classes (0 to {})", record,
             where, int{label}, kClasses, kClasses - 1);
    split.labels.push_back(label);
    split.pixels.insert(split.pixels.end(), one.begin() + 1, one.end());
  }
}

Split read_cifar(const std::vector<std::filesystem::path>& files) {
  Split split;
  for (const auto& path : files) {
    const std::string bytes = read_file(path);
    parse_cifar(is_gzip(bytes) ? gunzip(bytes, path.string(), kMaxBytes) : bytes, path.string(), split);
  }
  return split;
}

Dataset read_cifar_file(const std::filesystem::path& file) {
  Dataset set{.name = "cifar10", .classes = kClasses, .class_names = class_names_of("cifar10")};
  set.train = read_cifar({file});
  const std::int64_t count = set.train.count(), tail = std::max<std::int64_t>(1, count / 10);
  if (count < 2)
    reject(Hint{"a file of at least two records can be split into training and test images"},
           "{} holds a single record", file.string());
  set.test.image = set.train.image;
  const auto labels = set.train.labels.end() - tail;
  const auto pixels = set.train.pixels.end() - tail * set.train.image.numel();
  set.test.labels.assign(labels, set.train.labels.end());
  set.test.pixels.assign(pixels, set.train.pixels.end());
  set.train.labels.erase(labels, set.train.labels.end());
  set.train.pixels.erase(pixels, set.train.pixels.end());
  return set;
}

}  // namespace headroom
