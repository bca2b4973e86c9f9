#include "data/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/units.h"

namespace headroom {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHeaderAlignment = 8;        // data starts at a multiple of this
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the published reader
constexpr const char* kMetadata = "__metadata__";

constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::f64, "F64"},   {DType::f32, "F32"},      {DType::f16, "F16"},
    {DType::bf16, "BF16"}, {DType::i64, "I64"},      {DType::i32, "I32"},
    {DType::u8, "U8"},     {DType::boolean, "BOOL"}, {DType::i8, "I8"},
};

std::string_view published_name(DType dtype) {
  const auto found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](auto& n) { return n.first == dtype; });
  return found->second;
}

const Hint kDamaged{"the file is damaged or was not written whole; copy or write it again"};

void require_sound_file(const std::filesystem::path& path, const TensorFile& file) {
  std::set<std::string_view> names;
  for (const NamedTensor& t : file.tensors) {
    if (t.name == kMetadata || !names.insert(t.name).second)
      fail("cannot write {}: the tensor name '{}' is {}", path.string(), t.name,
           t.name == kMetadata ? "reserved" : "used twice");
    if (std::cmp_not_equal(t.bytes.size(), t.type.bytes()))
      fail("cannot write {}: tensor '{}' of {} {} has {} bytes, not {}", path.string(), t.name,
           t.type.shape.str(), name_of(t.type.dtype), t.bytes.size(), t.type.bytes());
  }
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.data.get()), file.size};
}

// Checks one file; every message names it.
class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view bytes) : where_(path.string()), bytes_(bytes) {}

  std::map<std::string, std::string> metadata() {
    const Json header = parse_header();
    TensorFile file;
    if (const auto found = header.find(kMetadata); found != header.end()) read_metadata(*found, file);
    return file.metadata;
  }

  TensorFile read() {
    const Json header = parse_header();
    TensorFile file;
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) {
        read_metadata(entry, file);
      } else {
        read_entry(name, entry);
      }
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.range() < b.range(); });
    require_gapless();
    for (const Entry& e : entries_) {
      const auto* data = reinterpret_cast<const std::byte*>(data_.data());
      file.tensors.push_back({e.name, e.type, {data + e.begin, data + e.end}});
    }
    return file;
  }

 private:
  struct Entry {
    std::string name;
    TensorType type;
    std::uint64_t begin, end;
    std::pair<std::uint64_t, std::uint64_t> range() const { return {begin, end}; }
  };

  Json parse_header() {
    if (bytes_.size() < kLengthBytes)
      reject(kDamaged, "{} is truncated: {} bytes cannot be a safetensors file", where_, bytes_.size());
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes_[i]);
    if (length > kMaxHeader)
      reject(Hint{"is it a safetensors file?"}, "{} announces a header of {} bytes, which is out of range",
             where_, length);
    if (length > bytes_.size() - kLengthBytes)
      reject(kDamaged, "{} is truncated: its header takes {} bytes, but only {} follow", where_, length,
             bytes_.size() - kLengthBytes);
    data_ = bytes_.substr(kLengthBytes + length);
    return parse_object(bytes_.substr(kLengthBytes, length), fmt::format("the header of {}", where_),
                        kDamaged);
  }

  void read_metadata(const Json& entry, TensorFile& file) const {
    if (!entry.is_object()) reject(kDamaged, "the metadata of {} is not a JSON object", where_);
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) reject(kDamaged, "metadata '{}' of {} is not text", key, where_);
      file.metadata[key] = value.get<std::string>();
    }
  }

  [[noreturn]] void bad(const std::string& name, const std::string& what) const {
    reject(kDamaged, "tensor '{}' of {}: {}", name, where_, what);
  }

  const Json& field(const std::string& name, const Json& entry, const char* key) const {
    if (!entry.is_object()) bad(name, "its entry is not a JSON object");
    const auto found = entry.find(key);
    if (found == entry.end()) bad(name, fmt::format("it has no '{}'", key));
    return *found;
  }

  DType read_dtype(const std::string& name, const Json& entry) const {
    const Json& text = field(name, entry, "dtype");
    for (const auto& [dtype, published] : kNames)
      if (text.is_string() && text.get<std::string>() == published) return dtype;
    reject(Hint{"known are F64, F32, F16, BF16, I64, I32, U8 and BOOL; convert the tensor to one of them"},
           "tensor '{}' of {}: unknown dtype {}", name, where_, text.dump());
  }

  // The product of the extents cannot overflow: no tensor is larger than the file.
  Shape read_shape(const std::string& name, const Json& entry) const {
    const Json& list = field(name, entry, "shape");
    if (!list.is_array()) bad(name, "its shape is not a list");
    if (list.size() > Shape::kMaxRank)
      bad(name, fmt::format("it has {} dimensions; the max is {}", list.size(), Shape::kMaxRank));
    std::vector<std::int64_t> dims;
    for (const Json& extent : list) {
      if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > (std::uint64_t{1} << 62))
        bad(name, fmt::format("extent {} is not a valid size", extent.dump()));
      dims.push_back(extent.get<std::int64_t>());
    }
    // An empty tensor may have any other extents if their product does not overflow.
    const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
    std::uint64_t room = empty ? std::uint64_t{1} << 48 : data_.size();
    for (const std::int64_t extent : dims) {
      if (extent == 0) continue;
      room /= static_cast<std::uint64_t>(extent);
      if (room == 0)
        bad(name, fmt::format("shape {} takes more than the {} bytes of data there are", Shape(dims).str(),
                              data_.size()));
    }
    return Shape(dims);
  }

  void read_entry(const std::string& name, const Json& entry) {
    const TensorType type{read_shape(name, entry), read_dtype(name, entry)};
    const Json& offsets = field(name, entry, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      bad(name, fmt::format("its data_offsets {} are not two numbers", offsets.dump()));
    const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
    if (begin > end) bad(name, fmt::format("its data ends at {} before it begins at {}", end, begin));
    if (end > data_.size())
      bad(name, fmt::format("its data ends at byte {}, but the file holds {}", end, data_.size()));
    if (std::cmp_not_equal(end - begin, type.bytes()))
      bad(name, fmt::format("{} {} takes {} bytes, but its data_offsets span {}", type.shape.str(),
                            name_of(type.dtype), type.bytes(), end - begin));
    entries_.push_back({name, type, begin, end});
  }

  // The format allows no overlaps and no gaps: every byte belongs to one tensor.
  void require_gapless() const {
    std::uint64_t reached = 0;
    for (const Entry& e : entries_) {
      if (e.begin < reached) bad(e.name, fmt::format("its data at {} overlaps another tensor's", e.begin));
      if (e.begin > reached)
        bad(e.name, fmt::format("its data begins at {}, leaving a gap from {}", e.begin, reached));
      reached = e.end;
    }
    if (reached != data_.size())
      reject(kDamaged, "{} has {} bytes after its last tensor", where_, data_.size() - reached);
  }

  std::string where_;
  std::string_view bytes_, data_;
  std::vector<Entry> entries_;
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  require_sound_file(path, file);
  // Wide elements first, so that every tensor is aligned to its element: readers map the file and point into
  // it.
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& t : file.tensors) sorted.push_back(&t);
  std::stable_sort(sorted.begin(), sorted.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return size_of(a->type.dtype) > size_of(b->type.dtype);
  });

  Json header = Json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  std::size_t offset = 0;
  for (const NamedTensor* t : sorted) {
    header[t->name] = {{"dtype", published_name(t->type.dtype)},
                       {"shape", t->type.shape.vector()},
                       {"data_offsets", {offset, offset + t->bytes.size()}}};
    offset += t->bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');

  std::string bytes;
  bytes.reserve(kLengthBytes + text.size() + offset);
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  bytes += text;
  for (const NamedTensor* t : sorted)
    bytes.append(reinterpret_cast<const char*>(t->bytes.data()), t->bytes.size());
  write_file(path, bytes);
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  return Reader(path, text_of(file)).read();
}

std::map<std::string, std::string> read_safetensors_metadata(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  return Reader(path, text_of(file)).metadata();
}

}  // namespace headroom
