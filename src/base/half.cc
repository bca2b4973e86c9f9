#include "base/half.h"

#include <bit>
#include <cmath>

namespace headroom {
namespace {

struct Format {
  int fraction_bits, exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  }
};

Format format_of(DType dtype) { return dtype == DType::f16 ? Format{10, 5} : Format{7, 8}; }

// 2^exponent, for normal numbers. A product with it is exact and much quicker than ldexp.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

}  // namespace

std::uint16_t half_bits(DType dtype, double value) {
  const Format f = format_of(dtype);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return static_cast<std::uint16_t>(f.infinity() | (1 << (f.fraction_bits - 1)));
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | f.infinity());
  const double size = std::abs(value);
  // size = m 2^exponent, m in [1, 2). A subnormal double counts as 2^-1023: both formats have larger units.
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(size) >> 52) - 1023;
  // The spacing of the format at this size; below the normal numbers it stays constant.
  const int unit = std::max(exponent, 1 - f.bias()) - f.fraction_bits;
  // nearbyint rounds ties to even. A carry into the next power of two gives the format's next number.
  const double steps = std::nearbyint(size * power_of_two(-unit));
  const int base = std::max(exponent + f.bias(), 1) - 1;  // exponent field, minus the implicit one
  const double bits = steps + (base << f.fraction_bits);
  if (bits >= f.infinity()) return static_cast<std::uint16_t>(sign | f.infinity());
  return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(bits));
}

double half_value(DType dtype, std::uint16_t bits) {
  const Format f = format_of(dtype);
  const int exponent = (bits & 0x7FFF) >> f.fraction_bits, fraction = bits & ((1 << f.fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << f.exponent_bits) - 1) return fraction ? NAN : sign * INFINITY;
  const int whole = exponent == 0 ? fraction : fraction + (1 << f.fraction_bits);
  return sign * whole * power_of_two(std::max(exponent, 1) - f.bias() - f.fraction_bits);
}

}  // namespace headroom
