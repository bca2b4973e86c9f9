#include "data/tensor_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace headroom {
namespace {

template <class T>
T load(const NamedTensor& tensor, std::int64_t index) {
  T value{};
  std::memcpy(&value, tensor.bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof value);
  return value;
}

template <class T>
void store(NamedTensor& tensor, std::int64_t index, T value) {
  std::memcpy(tensor.bytes.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof value);
}

void set_value(NamedTensor& tensor, std::int64_t i, double value) {
  switch (tensor.type.dtype) {
    case DType::f64:
      return store(tensor, i, value);
    case DType::f32:
      return store(tensor, i, static_cast<float>(value));
    case DType::f16:
    case DType::bf16:
      return store(tensor, i, half_bits(tensor.type.dtype, value));
    case DType::i64:
      return store(tensor, i, static_cast<std::int64_t>(value));
    case DType::i32:
      return store(tensor, i, static_cast<std::int32_t>(value));
    case DType::u8:
      return store(tensor, i, static_cast<std::uint8_t>(value));
    case DType::i8:
      return store(tensor, i, static_cast<std::int8_t>(value));
    case DType::boolean:
      return store(tensor, i, static_cast<std::uint8_t>(value != 0));
  }
}

// The error of an element, and how far it is beyond its tolerance. Both are infinite if one of the two values
// is NaN or if they are different infinities.
struct Distance {
  double beyond = 0, error = 0;
};

Distance distance(double got, double wanted, const Tolerance& tolerance) {
  if (std::isnan(got) && std::isnan(wanted)) return {};
  if (got == wanted) return {};
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (!std::isfinite(got) || !std::isfinite(wanted)) return {kInfinite, kInfinite};
  const double error = std::fabs(got - wanted);
  return {error - (tolerance.absolute + tolerance.relative * std::fabs(wanted)), error};
}

// Exact even if fp64 is not.
Distance integer_distance(std::int64_t got, std::int64_t wanted) {
  if (got == wanted) return {};
  const double error = std::fabs(static_cast<double>(got) - static_cast<double>(wanted));
  return {std::max(error, 1.0), std::max(error, 1.0)};
}

}  // namespace

double value_at(const NamedTensor& tensor, std::int64_t i) {
  switch (tensor.type.dtype) {
    case DType::f64:
      return load<double>(tensor, i);
    case DType::f32:
      return static_cast<double>(load<float>(tensor, i));
    case DType::f16:
    case DType::bf16:
      return half_value(tensor.type.dtype, load<std::uint16_t>(tensor, i));
    case DType::i64:
      return static_cast<double>(load<std::int64_t>(tensor, i));
    case DType::i32:
      return load<std::int32_t>(tensor, i);
    case DType::i8:
      return load<std::int8_t>(tensor, i);
    case DType::u8:
    case DType::boolean:
      return load<std::uint8_t>(tensor, i);
  }
  fail("an element type without a number");
}

std::vector<double> values_of(const NamedTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.type.shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(tensor, static_cast<std::int64_t>(i));
  return values;
}

std::string text_at(const NamedTensor& tensor, std::int64_t i) {
  if (tensor.type.dtype == DType::boolean) return load<std::uint8_t>(tensor, i) ? "true" : "false";
  if (tensor.type.dtype == DType::i64) return std::to_string(load<std::int64_t>(tensor, i));
  if (!is_float(tensor.type.dtype)) return fmt::format("{:.0f}", value_at(tensor, i));
  return fmt::format("{:.6g}", value_at(tensor, i));
}

NamedTensor as_type(const NamedTensor& tensor, DType to) {
  if (tensor.type.dtype == to) return tensor;
  NamedTensor other{tensor.name, {tensor.type.shape, to}, {}};
  other.bytes.resize(static_cast<std::size_t>(other.type.bytes()));
  for (std::int64_t i = 0; i < tensor.type.shape.numel(); ++i) set_value(other, i, value_at(tensor, i));
  return other;
}

std::vector<std::int64_t> position_of(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> position(static_cast<std::size_t>(shape.rank()));
  for (int a = shape.rank(); a-- > 0;) {
    position[static_cast<std::size_t>(a)] = index % shape[a];
    index /= shape[a];
  }
  return position;
}

Difference compare(const NamedTensor& got, const NamedTensor& wanted, const Tolerance& tolerance) {
  Difference c;
  const bool floats = is_float(got.type.dtype) && is_float(wanted.type.dtype);
  if (got.type.shape != wanted.type.shape || (got.type.dtype != wanted.type.dtype && !floats)) {
    c.mismatch = fmt::format("is {} {}, but {} {} was expected", got.type.shape.str(),
                             name_of(got.type.dtype), wanted.type.shape.str(), name_of(wanted.type.dtype));
    return c;
  }
  c.elements = got.type.shape.numel();
  double furthest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < c.elements; ++i) {
    const double a = value_at(got, i), b = value_at(wanted, i);
    Distance d;
    if (got.type.dtype == DType::i64)
      d = integer_distance(load<std::int64_t>(got, i), load<std::int64_t>(wanted, i));
    else if (is_float(got.type.dtype))
      d = distance(a, b, tolerance);
    else
      d = integer_distance(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
    c.wrong += d.beyond > 0;
    // Wrong elements compare by the excess over their tolerance, right ones by the plain error.
    const bool worse =
        d.beyond > 0 ? furthest <= 0 || d.beyond > furthest : furthest <= 0 && d.error > c.error;
    if (c.worst >= 0 && !worse) continue;
    c.worst = i, c.got = a, c.wanted = b, c.error = d.error;
    if (d.beyond > 0) furthest = d.beyond;
  }
  return c;
}

}  // namespace headroom
