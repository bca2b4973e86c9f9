// Elements of a file's tensors: packed, typed, or in another file.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "models/onnx/convert.h"
#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {
namespace {

constexpr std::int64_t kMaxFileElements = std::int64_t{1} << 44;

// Rejects dimensions that no tensor can have; the message names the tensor.
Shape checked_shape(const TensorProto& tensor, const std::string& file) {
  std::int64_t elements = 1;
  for (std::int64_t d : tensor.dims()) {
    if (d < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(d, 1), &elements) ||
        elements > kMaxFileElements)
      reject("{}: tensor '{}' has the size [{}]", file, tensor.name(),
             fmt::join(tensor.dims().begin(), tensor.dims().end(), ","));
  }
  if (tensor.dims_size() > Shape::kMaxRank)
    reject("{}: tensor '{}' has {} dimensions; at most {} are supported", file, tensor.name(),
           tensor.dims_size(), Shape::kMaxRank);
  return Shape(std::span(tensor.dims().data(), static_cast<std::size_t>(tensor.dims_size())));
}

struct Encoding {
  int type;
  std::string_view name;
  std::size_t size;  // in raw bytes; 0: not whole bytes, or no fixed size
  std::optional<DType> ours;
};

constexpr Encoding kEncodings[] = {
    {TensorProto::FLOAT, "float", 4, DType::f32},
    {TensorProto::UINT8, "uint8", 1, DType::u8},
    {TensorProto::INT8, "int8", 1, DType::i8},
    {TensorProto::UINT16, "uint16", 2, DType::i32},
    {TensorProto::INT16, "int16", 2, DType::i32},
    {TensorProto::INT32, "int32", 4, DType::i32},
    {TensorProto::INT64, "int64", 8, DType::i64},
    {TensorProto::STRING, "string", 0, std::nullopt},
    {TensorProto::BOOL, "bool", 1, DType::boolean},
    {TensorProto::FLOAT16, "float16", 2, DType::f16},
    {TensorProto::DOUBLE, "double", 8, DType::f64},
    {TensorProto::UINT32, "uint32", 4, DType::i64},
    {TensorProto::UINT64, "uint64", 8, DType::i64},
    {TensorProto::COMPLEX64, "complex64", 8, std::nullopt},
    {TensorProto::COMPLEX128, "complex128", 16, std::nullopt},
    {TensorProto::BFLOAT16, "bfloat16", 2, DType::bf16},
    {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", 1, std::nullopt},
    {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 1, std::nullopt},
    {TensorProto::FLOAT8E5M2, "float8e5m2", 1, std::nullopt},
    {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 1, std::nullopt},
    {TensorProto::UINT4, "uint4", 0, DType::u8},
    {TensorProto::INT4, "int4", 0, DType::i8},
};

const Encoding* stored(int data_type) {
  for (const Encoding& s : kEncodings)
    if (s.type == data_type) return &s;
  return nullptr;
}

template <class To, class From>
ConstantData widened(const Shape& shape, const From& element) {
  const auto count = static_cast<std::size_t>(shape.numel());
  const std::shared_ptr<To[]> out(new To[count == 0 ? 1 : count]);
  for (std::size_t i = 0; i < count; ++i) out[i] = element(i);
  return {{shape, headroom::dtype_of<To>()},
          std::shared_ptr<const std::byte>(out, reinterpret_cast<const std::byte*>(out.get()))};
}

template <class To, class From>
ConstantData widened_raw(const Shape& shape, const std::byte* data, const std::string& what) {
  return widened<To>(shape, [&](std::size_t i) {
    From value;
    std::memcpy(&value, data + i * sizeof(From), sizeof(From));
    if (!std::in_range<To>(value)) reject("{} holds {}, which is too large here", what, value);
    return static_cast<To>(value);
  });
}

bool is_4bit(int data_type) { return data_type == TensorProto::UINT4 || data_type == TensorProto::INT4; }

std::size_t raw_bytes(int data_type, std::int64_t elements) {
  const auto count = static_cast<std::size_t>(elements);
  return is_4bit(data_type) ? (count + 1) / 2 : count * stored(data_type)->size;
}

// Integers of four bits, two in a byte, the first in its low half; byte(i) reads one.
template <class Byte>
ConstantData unpacked(int data_type, const Shape& shape, const Byte& byte) {
  const auto half = [&](std::size_t i) { return byte(i / 2) >> (i % 2 * 4) & 15U; };
  if (data_type == TensorProto::UINT4)
    return widened<std::uint8_t>(shape, [&](std::size_t i) { return static_cast<std::uint8_t>(half(i)); });
  return widened<std::int8_t>(
      shape, [&](std::size_t i) { return static_cast<std::int8_t>(static_cast<int>(half(i) ^ 8U) - 8); });
}

// Raw bytes from any place, as our elements.
ConstantData from_raw(int data_type, const Shape& shape, std::shared_ptr<const std::byte> data,
                      const std::string& what) {
  switch (data_type) {
    case TensorProto::UINT4:
    case TensorProto::INT4:
      return unpacked(data_type, shape,
                      [&](std::size_t i) { return std::to_integer<unsigned>(data.get()[i]); });
    case TensorProto::UINT16:
      return widened_raw<std::int32_t, std::uint16_t>(shape, data.get(), what);
    case TensorProto::INT16:
      return widened_raw<std::int32_t, std::int16_t>(shape, data.get(), what);
    case TensorProto::UINT32:
      return widened_raw<std::int64_t, std::uint32_t>(shape, data.get(), what);
    case TensorProto::UINT64:
      return widened_raw<std::int64_t, std::uint64_t>(shape, data.get(), what);
    default:
      return {{shape, *dtype_of(data_type)}, std::move(data)};
  }
}

template <class Field>
void require_count(const Field& field, const Shape& shape, const std::string& what) {
  if (std::cmp_not_equal(field.size(), shape.numel()))
    reject("{} of {} has {} elements, not {}", what, shape.str(), field.size(), shape.numel());
}

// Small integers in fields of 32 bits: numbers that their type does not have.
void require_range(const TensorProto& t, const std::string& what) {
  const auto all = [&]<class T>() {
    for (const std::int32_t value : t.int32_data())
      if (!std::in_range<T>(value))
        reject("{} holds {}, which does not fit {}", what, value, name_of_type(t.data_type()));
  };
  switch (t.data_type()) {
    case TensorProto::INT8:
      return all.template operator()<std::int8_t>();
    case TensorProto::UINT8:
      return all.template operator()<std::uint8_t>();
    case TensorProto::INT16:
      return all.template operator()<std::int16_t>();
    case TensorProto::UINT16:
      return all.template operator()<std::uint16_t>();
    default:
      return;
  }
}

// Typed fields: 16-bit floats, bools and small integers are packed into int32_data, one each.
ConstantData from_fields(const TensorProto& t, const Shape& shape, const std::shared_ptr<const void>& hold,
                         const std::string& what) {
  auto pointing = [&](const auto& field, DType dtype) -> ConstantData {
    require_count(field, shape, what);
    return {{shape, dtype}, {hold, reinterpret_cast<const std::byte*>(field.data())}};
  };
  auto element = [&](std::size_t i) { return t.int32_data(static_cast<int>(i)); };
  switch (t.data_type()) {
    case TensorProto::FLOAT:
      return pointing(t.float_data(), DType::f32);
    case TensorProto::DOUBLE:
      return pointing(t.double_data(), DType::f64);
    case TensorProto::INT64:
      return pointing(t.int64_data(), DType::i64);
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      require_count(t.uint64_data(), shape, what);
      return widened_raw<std::int64_t, std::uint64_t>(
          shape, reinterpret_cast<const std::byte*>(t.uint64_data().data()), what);
    case TensorProto::INT32:
      return pointing(t.int32_data(), DType::i32);
    case TensorProto::UINT4:
    case TensorProto::INT4:
      if (std::cmp_not_equal(t.int32_data_size(), raw_bytes(t.data_type(), shape.numel())))
        reject("{} of {} has {} bytes, not {}", what, shape.str(), t.int32_data_size(),
               raw_bytes(t.data_type(), shape.numel()));
      return unpacked(t.data_type(), shape, [&](std::size_t i) { return static_cast<unsigned>(element(i)); });
    default:
      break;
  }
  require_count(t.int32_data(), shape, what);
  require_range(t, what);
  if (t.data_type() == TensorProto::INT16 || t.data_type() == TensorProto::UINT16)
    return pointing(t.int32_data(), DType::i32);
  if (t.data_type() == TensorProto::INT8)
    return widened<std::int8_t>(shape, [&](std::size_t i) { return static_cast<std::int8_t>(element(i)); });
  if (const DType dtype = *dtype_of(t.data_type()); is_16bit(dtype)) {
    const auto halves = std::make_shared<std::vector<std::uint16_t>>(shape.numel());
    for (std::size_t i = 0; i < halves->size(); ++i) (*halves)[i] = static_cast<std::uint16_t>(element(i));
    return {{shape, dtype}, {halves, reinterpret_cast<const std::byte*>(halves->data())}};
  }
  ConstantData bytes = widened<std::uint8_t>(shape, [&](std::size_t i) {
    return static_cast<std::uint8_t>(t.data_type() == TensorProto::BOOL ? element(i) != 0 : element(i));
  });
  bytes.type.dtype = *dtype_of(t.data_type());
  return bytes;
}

std::uint64_t number_of(const std::string& text, const std::string& what) {
  const std::int64_t value = parse_int(text, what);
  if (value < 0) reject("{} is {}", what, value);
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::optional<DType> dtype_of(int data_type) {
  const Encoding* s = stored(data_type);
  return s == nullptr ? std::nullopt : s->ours;
}

std::string name_of_type(int data_type) {
  const Encoding* s = stored(data_type);
  return s == nullptr ? fmt::format("type {}", data_type) : std::string(s->name);
}

ConstantData File::tensor(const TensorProto& t) const {
  const std::string what = fmt::format("{}: tensor '{}'", name(), t.name());
  const Shape shape = checked_shape(t, name());
  if (!dtype_of(t.data_type()))
    throw Unsupported{
        fmt::format("tensor '{}' is of {}, which is not read", t.name(), name_of_type(t.data_type()))};
  if (t.data_location() == TensorProto::EXTERNAL) return external(t, shape);
  if (!t.has_raw_data()) return from_fields(t, shape, shared_from_this(), what);
  const std::size_t bytes = raw_bytes(t.data_type(), shape.numel());
  if (t.raw_data().size() != bytes)
    reject("{} of {} has {} bytes, not {}", what, shape.str(), t.raw_data().size(), bytes);
  return from_raw(t.data_type(), shape,
                  {shared_from_this(), reinterpret_cast<const std::byte*>(t.raw_data().data())}, what);
}

// A foreign model must not read arbitrary files: only those in its own folder or below.
MappedFile File::beside(const std::string& location) const {
  const std::scoped_lock lock(mutex_);
  if (const auto it = beside_.find(location); it != beside_.end()) return it->second;
  const Hint why{"a model's weights must be in its own folder, and be named relative to it"};
  const std::filesystem::path wanted(location);
  bool climbs = wanted.empty() || wanted.is_absolute() || location.find('\0') != std::string::npos;
  for (const auto& part : wanted) climbs |= part == "..";
  if (climbs) reject(why, "{} keeps weights in '{}', outside its folder", name(), location);
  const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  std::error_code error;
  const auto home = std::filesystem::canonical(folder, error);
  const auto target = error ? std::filesystem::path{} : std::filesystem::canonical(folder / wanted, error);
  if (error) reject(why, "{} keeps weights in '{}': {}", name(), location, error.message());
  const auto [end, ignored] = std::mismatch(home.begin(), home.end(), target.begin(), target.end());
  if (end != home.end())
    reject(why, "{} keeps weights in '{}', a link to outside its folder", name(), location);
  return beside_.emplace(location, map_file(target)).first->second;
}

ConstantData File::external(const TensorProto& t, const Shape& shape) const {
  const std::string what = fmt::format("{}: tensor '{}'", name(), t.name());
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const StringStringEntryProto& entry : t.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number_of(entry.value(), what + "'s offset");
    if (entry.key() == "length") length = number_of(entry.value(), what + "'s length");
  }
  const MappedFile file = beside(location);
  const std::uint64_t bytes = raw_bytes(t.data_type(), shape.numel());
  if (length && *length != bytes) reject("{} of {} has {} bytes, not {}", what, shape.str(), *length, bytes);
  if (offset > file.size || bytes > file.size - offset)
    reject("{} is at {} of '{}', which ends at {}", what, offset, location, file.size);
  return from_raw(t.data_type(), shape, {file.data, file.data.get() + offset}, what);
}

}  // namespace headroom::onnx
