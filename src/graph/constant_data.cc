#include "graph/constant_data.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/half.h"

namespace headroom {
namespace {

template <class T>
T at(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

std::int64_t whole(double value) {
  constexpr double kEnd = 0x1p63;
  if (!(value >= -kEnd && value < kEnd)) reject("{} is not an integer", value);
  return static_cast<std::int64_t>(value);
}

template <class To>
To as(const ConstantData& from, std::int64_t index) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(from.real(index));
  } else {
    const std::int64_t value = from.integer(index);
    if (!std::in_range<To>(value)) reject("{} does not fit {}", value, name_of(dtype_of<To>()));
    return static_cast<To>(value);
  }
}

template <class To>
void fill(const ConstantData& from, std::int64_t count, To* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = as<To>(from, i);
}

void fill_any(const ConstantData& from, std::int64_t count, DType to, void* out) {
  switch (to) {
    case DType::f64:
      return fill(from, count, static_cast<double*>(out));
    case DType::f32:
      return fill(from, count, static_cast<float*>(out));
    case DType::i64:
      return fill(from, count, static_cast<std::int64_t*>(out));
    case DType::i32:
      return fill(from, count, static_cast<std::int32_t*>(out));
    case DType::u8:
      return fill(from, count, static_cast<std::uint8_t*>(out));
    case DType::i8:
      return fill(from, count, static_cast<std::int8_t*>(out));
    case DType::boolean:
      for (std::int64_t i = 0; i < count; ++i) static_cast<std::uint8_t*>(out)[i] = from.real(i) != 0;
      return;
    case DType::f16:
    case DType::bf16:
      for (std::int64_t i = 0; i < count; ++i)
        static_cast<std::uint16_t*>(out)[i] = half_bits(to, from.real(i));
      return;
  }
}

}  // namespace

double ConstantData::real(std::int64_t index) const {
  const std::int64_t i = repeated ? 0 : index;
  switch (type.dtype) {
    case DType::f64:
      return at<double>(data.get(), i);
    case DType::f32:
      return at<float>(data.get(), i);
    case DType::f16:
    case DType::bf16:
      return half_value(type.dtype, at<std::uint16_t>(data.get(), i));
    default:
      return static_cast<double>(integer(index));
  }
}

std::int64_t ConstantData::integer(std::int64_t index) const {
  const std::int64_t i = repeated ? 0 : index;
  switch (type.dtype) {
    case DType::i64:
      return at<std::int64_t>(data.get(), i);
    case DType::i32:
      return at<std::int32_t>(data.get(), i);
    case DType::u8:
      return at<std::uint8_t>(data.get(), i);
    case DType::i8:
      return at<std::int8_t>(data.get(), i);
    case DType::boolean:
      return at<std::uint8_t>(data.get(), i) != 0;
    default:
      return whole(real(index));
  }
}

std::vector<double> ConstantData::reals() const {
  std::vector<double> list(static_cast<std::size_t>(count()));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = real(static_cast<std::int64_t>(i));
  return list;
}

std::vector<std::int64_t> ConstantData::integers() const {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count()));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = integer(static_cast<std::int64_t>(i));
  return list;
}

void ConstantData::convert(DType to, void* out) const {
  const auto all = static_cast<std::size_t>(count());
  const std::size_t size = size_of(to);
  if (repeated) {
    if (all == 0) return;
    fill_any(*this, 1, to, out);
    for (std::size_t i = 1; i < all; ++i) std::memcpy(static_cast<std::byte*>(out) + i * size, out, size);
  } else if (to == type.dtype) {
    if (all > 0) std::memcpy(out, data.get(), all * size);
  } else {
    fill_any(*this, count(), to, out);
  }
}

namespace {

std::shared_ptr<const std::byte> copy_of(const void* from, std::size_t bytes) {
  const std::shared_ptr<std::byte[]> to(new std::byte[bytes == 0 ? 1 : bytes]);
  if (bytes > 0) std::memcpy(to.get(), from, bytes);
  return {to, to.get()};
}

}  // namespace

ConstantData constant_data(const Shape& shape, std::span<const std::int64_t> elements) {
  if (shape.numel() != static_cast<std::int64_t>(elements.size()))
    fail("{} elements given as {}", elements.size(), shape.str());
  return {{shape, DType::i64}, copy_of(elements.data(), elements.size_bytes())};
}

ConstantData constant_data(const Shape& shape, std::span<const double> elements, DType dtype) {
  if (shape.numel() != static_cast<std::int64_t>(elements.size()))
    fail("{} elements given as {}", elements.size(), shape.str());
  ConstantData wide{{shape, DType::f64}, copy_of(elements.data(), elements.size_bytes())};
  if (dtype == DType::f64) return wide;
  std::vector<std::byte> narrow(elements.size() * size_of(dtype));
  wide.convert(dtype, narrow.data());
  return {{shape, dtype}, copy_of(narrow.data(), narrow.size())};
}

ConstantData repeated_constant(const Shape& shape, DType dtype, double element) {
  ConstantData one = constant_data({}, std::span(&element, 1), dtype);
  one.type.shape = shape;
  one.repeated = true;
  return one;
}

}  // namespace headroom
