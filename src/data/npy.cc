#include "data/npy.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/half.h"

namespace headroom {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderAlignment = 64;  // data starts at a multiple of this, as in numpy.save
const Hint kDamagedNpy{"the file is damaged or was not written whole; copy or write it again"};

// NumPy's name without the byte order.
constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::f64, "f8"}, {DType::f32, "f4"}, {DType::f16, "f2"},     {DType::i64, "i8"},
    {DType::i32, "i4"}, {DType::u8, "u1"},  {DType::boolean, "b1"}, {DType::i8, "i1"}};

// Integers of which we have only a wider type.
struct Narrow {
  std::string_view name;
  std::size_t size;
  DType ours;
};
constexpr Narrow kNarrow[] = {
    {"i2", 2, DType::i32}, {"u2", 2, DType::i32}, {"u4", 4, DType::i64}, {"u8", 8, DType::i64}};

struct Header {
  DType dtype = DType::f32;
  std::string_view narrow = {};  // name of an integer type that is widened to `dtype`
  std::size_t item = 4;          // bytes of an element in the file
  bool swapped = false, fortran = false;
  std::vector<std::int64_t> shape;
};

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string where, std::string_view text) : where_(std::move(where)), text_(text) {}

  Header read() {
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        read_type(string_or_list());
        ++seen_;
      } else if (key == "fortran_order") {
        header_.fortran = boolean();
        ++seen_;
      } else if (key == "shape") {
        read_shape();
        ++seen_;
      } else {
        bad(fmt::format("it has an entry '{}', which the format does not know", key));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (seen_ != 3) bad("it must have descr, fortran_order and shape, each once");
    return header_;
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    reject(kDamagedNpy, "the header of {}: {}", where_, what);
  }
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) bad(fmt::format("a '{}' is missing at character {}", c, at_ + 1));
  }
  std::string string() {
    blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string::npos;
    if (end == std::string::npos) bad(fmt::format("a text in quotes is missing at character {}", at_ + 1));
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  std::string string_or_list() {
    blanks();
    if (at_ < text_.size() && text_[at_] == '[')
      reject(Hint{"save one field of it as a separate array"}, "{} holds records of several fields", where_);
    return string();
  }
  bool boolean() {
    blanks();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)})
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::strlen(word);
        return value;
      }
    bad("fortran_order is neither True nor False");
  }

  void read_type(const std::string& descr) {
    const char order = descr.empty() ? '\0' : descr[0];
    const bool marked = order == '<' || order == '>' || order == '|' || order == '=';
    const std::string_view kind = std::string_view(descr).substr(marked ? 1 : 0);
    for (const auto& [dtype, name] : kNames)
      if (kind == name) return set_type(dtype, size_of(dtype), order);
    for (const Narrow& narrow : kNarrow)
      if (kind == narrow.name) {
        header_.narrow = narrow.name;
        return set_type(narrow.ours, narrow.size, order);
      }
    reject(Hint{"floats of 16, 32 and 64 bits, integers of 8 to 64 bits and bool can be read: "
                "numpy.save(file, array.astype('float32'))"},
           "{} holds elements of type '{}'", where_, descr);
  }

  void set_type(DType dtype, std::size_t item, char order) {
    header_.dtype = dtype;
    header_.item = item;
    header_.swapped = order == '>' && item > 1;
  }

  void read_shape() {
    expect('(');
    while (!take(')')) {
      header_.shape.push_back(extent());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    if (header_.shape.size() > static_cast<std::size_t>(Shape::kMaxRank))
      reject("{} has {} axes; the max is {}", where_, header_.shape.size(), Shape::kMaxRank);
  }

  std::int64_t extent() {
    blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    constexpr std::size_t kMaxDigits = 18;
    if (at_ == begin || at_ - begin > kMaxDigits)
      bad(fmt::format("an extent is missing or out of range at character {}", begin + 1));
    const std::int64_t value = std::stoll(std::string(text_.substr(begin, at_ - begin)));
    take('L');  // Python 2's long integers
    return value;
  }

  std::string where_;
  std::string_view text_;
  std::size_t at_ = 0;
  int seen_ = 0;
  Header header_;
};

// The header's text, and the data after it.
std::pair<std::string_view, std::string_view> parts_of(const std::string& where, std::string_view bytes) {
  constexpr std::size_t kVersionAt = 6, kLengthAt = 8;
  if (!bytes.starts_with(kMagic))
    reject(Hint{"numpy.save writes such files; an .npz holds several of them"}, "{} is not an .npy file",
           where);
  if (bytes.size() < kLengthAt + 4)
    reject(kDamagedNpy, "{} is truncated: {} bytes cannot be an .npy file", where, bytes.size());
  const int version = static_cast<unsigned char>(bytes[kVersionAt]);
  if (version < 1 || version > 3)
    reject(Hint{"save it again with numpy.save"}, "{} has version {} of the .npy format; 1 to 3 can be read",
           where, version);
  const std::size_t width = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = width; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(bytes[kLengthAt + i]);
  const std::size_t begin = kLengthAt + width;
  if (length > bytes.size() - begin)
    reject(kDamagedNpy, "{} is truncated: its header takes {} bytes, but only {} follow", where, length,
           bytes.size() - begin);
  return {bytes.substr(begin, length), bytes.substr(begin + length)};
}

// Extents may be anything; their product must match the file's size, so it cannot overflow.
void require_size(const std::string& where, const Header& header, std::size_t there) {
  const std::size_t item = header.item;
  const bool empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  std::uint64_t room = empty ? std::uint64_t{1} << 48 : there / item, count = 1;
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) continue;
    room /= static_cast<std::uint64_t>(extent);
    if (room > 0) count *= static_cast<std::uint64_t>(extent);
  }
  if (room == 0 || (empty ? 0 : count * item) != there)
    reject(kDamagedNpy, "{}: an array of {} {} does not match the {} bytes of data", where,
           Shape(header.shape).str(), name_of(header.dtype), there);
}

// Column-major to row-major: the last axis of the result steps by the product of all extents before it.
std::vector<std::byte> row_major(const std::vector<std::byte>& from, const Shape& shape, std::size_t item) {
  std::vector<std::byte> to(from.size());
  std::vector<std::int64_t> stride(static_cast<std::size_t>(shape.rank()), 1), index(stride.size(), 0);
  for (int a = 1; a < shape.rank(); ++a)
    stride[static_cast<std::size_t>(a)] = stride[static_cast<std::size_t>(a - 1)] * shape[a - 1];
  std::size_t at = 0;
  for (std::size_t i = 0; i < to.size(); i += item) {
    std::memcpy(&to[i], &from[at * item], item);
    for (std::size_t a = index.size(); a-- > 0;) {
      at += static_cast<std::size_t>(stride[a]);
      if (++index[a] < shape[static_cast<int>(a)]) break;
      at -= static_cast<std::size_t>(stride[a] * index[a]);
      index[a] = 0;
    }
  }
  return to;
}

std::string python_shape(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape.dims(), ", "), shape.rank() == 1 ? "," : "");
}

template <class From, class To>
std::vector<std::byte> widened(const std::string& where, const std::vector<std::byte>& from) {
  std::vector<std::byte> to(from.size() / sizeof(From) * sizeof(To));
  for (std::size_t i = 0; i * sizeof(From) < from.size(); ++i) {
    From narrow{};
    std::memcpy(&narrow, &from[i * sizeof(From)], sizeof narrow);
    if (!std::in_range<To>(narrow)) reject("{} holds {}, which does not fit int64", where, narrow);
    const To wide = static_cast<To>(narrow);
    std::memcpy(&to[i * sizeof(To)], &wide, sizeof wide);
  }
  return to;
}

std::vector<std::byte> widened(const std::string& where, std::string_view narrow,
                               const std::vector<std::byte>& from) {
  if (narrow == "i2") return widened<std::int16_t, std::int32_t>(where, from);
  if (narrow == "u2") return widened<std::uint16_t, std::int32_t>(where, from);
  if (narrow == "u4") return widened<std::uint32_t, std::int64_t>(where, from);
  return widened<std::uint64_t, std::int64_t>(where, from);
}

template <class From, class To>
bool narrow_into(const std::vector<std::byte>& from, std::vector<std::byte>& to) {
  to.resize(from.size() / sizeof(From) * sizeof(To));
  for (std::size_t i = 0; i * sizeof(From) < from.size(); ++i) {
    From wide{};
    std::memcpy(&wide, &from[i * sizeof(From)], sizeof wide);
    if (!std::in_range<To>(wide)) return false;
    const To narrow = static_cast<To>(wide);
    std::memcpy(&to[i * sizeof(To)], &narrow, sizeof narrow);
  }
  return true;
}

// False if a number does not fit, or if the type is not one that we widen.
bool narrowed(const NamedTensor& tensor, std::string_view narrow, std::vector<std::byte>& to) {
  const bool words = tensor.type.dtype == DType::i32, longs = tensor.type.dtype == DType::i64;
  if (words && narrow == "i2") return narrow_into<std::int32_t, std::int16_t>(tensor.bytes, to);
  if (words && narrow == "u2") return narrow_into<std::int32_t, std::uint16_t>(tensor.bytes, to);
  if (longs && narrow == "u4") return narrow_into<std::int64_t, std::uint32_t>(tensor.bytes, to);
  if (longs && narrow == "u8") return narrow_into<std::int64_t, std::uint64_t>(tensor.bytes, to);
  return false;
}

NamedTensor widened(const NamedTensor& tensor) {
  NamedTensor wide{tensor.name, {tensor.type.shape, DType::f32}, {}};
  wide.bytes.resize(tensor.bytes.size() * 2);
  for (std::size_t i = 0; 2 * i < tensor.bytes.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &tensor.bytes[2 * i], sizeof bits);
    const auto value = static_cast<float>(half_value(DType::bf16, bits));
    std::memcpy(&wide.bytes[4 * i], &value, sizeof value);
  }
  return wide;
}

}  // namespace

NamedTensor read_npy(const std::filesystem::path& path) {
  static_assert(std::endian::native == std::endian::little);
  const std::string where = path.string(), file = read_file(path);
  const auto [text, data] = parts_of(where, file);
  const Header header = HeaderReader(where, text).read();
  require_size(where, header, data.size());
  NamedTensor tensor{"", {Shape(header.shape), header.dtype}, {}};
  const auto* begin = reinterpret_cast<const std::byte*>(data.data());
  tensor.bytes.assign(begin, begin + data.size());
  const std::size_t item = header.item;
  if (header.swapped)
    for (std::size_t i = 0; i < tensor.bytes.size(); i += item)
      std::reverse(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(i),
                   tensor.bytes.begin() + static_cast<std::ptrdiff_t>(i + item));
  if (header.fortran && !tensor.bytes.empty())
    tensor.bytes = row_major(tensor.bytes, tensor.type.shape, item);
  if (!header.narrow.empty()) tensor.bytes = widened(where, header.narrow, tensor.bytes);
  if (header.dtype == DType::boolean)
    for (std::byte& b : tensor.bytes) b = b == std::byte{0} ? b : std::byte{1};
  return tensor;
}

std::string npy_bytes(const NamedTensor& tensor, std::string_view narrow) {
  if (tensor.type.dtype == DType::bf16) return npy_bytes(widened(tensor));
  if (std::cmp_not_equal(tensor.bytes.size(), tensor.type.bytes()))
    fail("'{}' of {} {} has {} bytes, not {}", tensor.name, tensor.type.shape.str(),
         name_of(tensor.type.dtype), tensor.bytes.size(), tensor.type.bytes());
  const auto* name = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](auto& n) { return n.first == tensor.type.dtype; });
  const char order = size_of(tensor.type.dtype) == 1 ? '|' : '<';
  std::vector<std::byte> small;
  const bool fits = narrowed(tensor, narrow, small);
  const std::vector<std::byte>& data = fits ? small : tensor.bytes;
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", order,
                                   fits ? narrow : name->second, python_shape(tensor.type.shape));
  constexpr std::size_t kBefore = 10;
  header.append((kHeaderAlignment - (kBefore + header.size() + 1) % kHeaderAlignment) % kHeaderAlignment,
                ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  return bytes;
}

void write_npy(const std::filesystem::path& path, const NamedTensor& tensor, std::string_view narrow) {
  write_file(path, npy_bytes(tensor, narrow));
}

}  // namespace headroom
