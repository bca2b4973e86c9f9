#include "base/error.h"
#include "base/file.h"
#include "data/gzip.h"
#include "data/idx.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::string words(std::initializer_list<std::int64_t> values) {
  std::string bytes;
  for (const std::int64_t value : values)
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

}  // namespace

std::string idx_image_bytes(const Split& split) {
  if (split.image.rank() != 3 || split.image[0] != 1)
    fail("images of {} cannot be written as IDX: it holds one channel", split.image.str());
  return words({0x803, split.count(), split.image[1], split.image[2]})
      .append(split.pixels.begin(), split.pixels.end());
}

std::string idx_label_bytes(const Split& split) {
  return words({0x801, split.count()}).append(split.labels.begin(), split.labels.end());
}

void require_free_idx_folder(const fs::path& folder, bool zipped, bool force) {
  std::error_code ignored;
  for (const char* stem : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                           "t10k-labels-idx1-ubyte"}) {
    const fs::path plain = folder / stem, packed = plain.string() + ".gz";
    if (const fs::path& other = zipped ? plain : packed; fs::exists(other, ignored))
      reject(Hint{"remove it, or name another folder"},
             "{} already exists, and a reader could read it instead", other.string());
    if (const fs::path& same = zipped ? packed : plain; !force && fs::exists(same, ignored))
      reject(Hint{"name another folder, or add `force` to overwrite it"}, "{} already exists", same.string());
  }
}

void write_idx_folder(const fs::path& folder, const Dataset& set, bool zipped, bool force) {
  require_free_idx_folder(folder, zipped, force);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) reject("cannot make the folder {}: {}", folder.string(), error.message());
  auto put = [&](const std::string& stem, const std::string& bytes) {
    write_file(folder / (stem + (zipped ? ".gz" : "")), zipped ? gzip(bytes) : bytes);
  };
  put("train-images-idx3-ubyte", idx_image_bytes(set.train));
  put("train-labels-idx1-ubyte", idx_label_bytes(set.train));
  put("t10k-images-idx3-ubyte", idx_image_bytes(set.test));
  put("t10k-labels-idx1-ubyte", idx_label_bytes(set.test));
}

}  // namespace headroom
