#include "data/mxnet_params.h"

#include <cstring>
#include <optional>
#include <set>
#include <type_traits>

#include "base/error.h"
#include "base/file.h"

namespace headroom {
namespace {

constexpr std::uint64_t kListMagic = 0x112;
constexpr std::uint32_t kArrayMagic = 0xF993FAC9;  // version 2 of an array
constexpr std::size_t kSmallestArray = 4 + 4 + 4;  // magic, storage, rank
constexpr std::size_t kLongestName = 4096;

const Hint kDamagedParams{"the file is damaged or was not written whole; copy or write it again"};

// Type flags in MXNet's order; flags without a type here (int8) are not supported.
std::optional<DType> dtype_of_flag(std::uint32_t flag) {
  switch (flag) {
    case 0:
      return DType::f32;
    case 1:
      return DType::f64;
    case 2:
      return DType::f16;
    case 3:
      return DType::u8;
    case 4:
      return DType::i32;
    case 6:
      return DType::i64;
    case 7:
      return DType::boolean;
    case 12:
      return DType::bf16;
    default:
      return std::nullopt;
  }
}

// Reads little-endian numbers from the front; every message names the file and the current item.
class Reader {
 public:
  Reader(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  TensorFile read() {
    if (const auto magic = number<std::uint64_t>("the format's magic number"); magic != kListMagic)
      reject(Hint{"is it a .params file?"}, "{} begins with 0x{:x}, not with MXNet's 0x112", where_, magic);
    number<std::uint64_t>("the reserved number");
    const std::uint64_t count = counted("arrays", kSmallestArray);
    TensorFile file;
    for (std::uint64_t i = 0; i < count; ++i) file.tensors.push_back(array(i));
    const std::uint64_t names = counted("names", sizeof(std::uint64_t));
    if (names != count) reject(kDamagedParams, "{} holds {} arrays but {} names", where_, count, names);
    std::set<std::string> seen;
    for (NamedTensor& tensor : file.tensors) {
      tensor.name = name();
      if (!seen.insert(tensor.name).second)
        reject(kDamagedParams, "{} has two arrays of the name '{}'", where_, tensor.name);
    }
    if (at_ != bytes_.size())
      reject(kDamagedParams, "{} has {} bytes after its last name", where_, bytes_.size() - at_);
    return file;
  }

 private:
  std::string_view take(std::size_t count, std::string_view what) {
    if (count > bytes_.size() - at_)
      reject(kDamagedParams, "{} is truncated: {} takes {} bytes from {} on, but the file ends at {}", where_,
             what, count, at_, bytes_.size());
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  template <class T>
  T number(std::string_view what) {
    const std::string_view taken = take(sizeof(T), what);
    std::make_unsigned_t<T> value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;)
      value = static_cast<std::make_unsigned_t<T>>(value << 8 | static_cast<unsigned char>(taken[i]));
    return static_cast<T>(value);
  }

  // Rejects a count larger than the rest of the file can hold.
  std::uint64_t counted(std::string_view what, std::size_t each) {
    const auto count = number<std::uint64_t>(fmt::format("the number of {}", what));
    if (count > (bytes_.size() - at_) / each)
      reject(kDamagedParams, "{} announces {} {}, more than its {} bytes can hold", where_, count, what,
             bytes_.size());
    return count;
  }

  // The product of the extents cannot overflow: no array is larger than the file.
  Shape shape(const std::string& which) {
    const auto rank = number<std::uint32_t>(which);
    if (rank < 1 || rank > Shape::kMaxRank)
      reject(kDamagedParams, "{} of {} has {} dimensions; 1 to {} are read", which, where_, rank,
             Shape::kMaxRank);
    std::vector<std::int64_t> extents;
    std::uint64_t room = bytes_.size();
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto extent = number<std::int64_t>(which);
      extents.push_back(extent);
      if (extent < 1 || (room /= static_cast<std::uint64_t>(extent)) == 0)
        reject(kDamagedParams, "{} of {}: extent {} of its shape is {}, which the file cannot hold", which,
               where_, i, extent);
    }
    return Shape(extents);
  }

  NamedTensor array(std::uint64_t index) {
    const std::string which = fmt::format("array {}", index);
    if (const auto magic = number<std::uint32_t>(which); magic != kArrayMagic)
      reject(Hint{"load it with MXNet 1.x and save it again: older and newer forms are not read"},
             "{} of {} begins with 0x{:x}, not with 0x{:x}", which, where_, magic, kArrayMagic);
    if (const auto storage = number<std::int32_t>(which); storage != 0)
      reject(Hint{"convert it to dense storage (tostype('default')) and save it again"},
             "{} of {} is stored sparsely (kind {})", which, where_, storage);
    NamedTensor tensor;
    tensor.type.shape = shape(which);
    number<std::uint32_t>(which);  // the device it was saved from: kind and number
    number<std::uint32_t>(which);
    const auto flag = number<std::uint32_t>(which);
    const auto dtype = dtype_of_flag(flag);
    if (!dtype) reject("{} of {} has elements of type {}, which is not read", which, where_, flag);
    tensor.type.dtype = *dtype;
    const std::string_view data = take(static_cast<std::size_t>(tensor.type.bytes()), which);
    const auto* first = reinterpret_cast<const std::byte*>(data.data());
    tensor.bytes.assign(first, first + data.size());
    return tensor;
  }

  std::string name() {
    const auto length = number<std::uint64_t>("the length of a name");
    if (length == 0 || length > kLongestName)
      reject(kDamagedParams, "{} has a name of {} letters at byte {}", where_, length, at_);
    std::string text(take(static_cast<std::size_t>(length), "a name"));
    const bool prefixed = text.starts_with("arg:") || text.starts_with("aux:");
    return prefixed ? text.substr(4) : text;
  }

  std::string_view bytes_, where_;
  std::size_t at_ = 0;
};

}  // namespace

TensorFile parse_mxnet_params(std::string_view bytes, std::string_view where) {
  return Reader(bytes, where).read();
}

TensorFile read_mxnet_params(const std::filesystem::path& path) {
  return parse_mxnet_params(read_file(path), path.string());
}

}  // namespace headroom
