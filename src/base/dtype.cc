#include "base/dtype.h"

#include <array>
#include <cmath>

namespace headroom {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
  int significand_bits;  // with the implicit one; 0: no rounding
};

constexpr std::array<Row, 9> kRows = {{
    {DType::f64, "fp64", 8, 53},
    {DType::f32, "fp32", 4, 24},
    {DType::f16, "fp16", 2, 11},
    {DType::bf16, "bf16", 2, 8},
    {DType::i64, "int64", 8, 0},
    {DType::i32, "int32", 4, 0},
    {DType::u8, "uint8", 1, 0},
    {DType::boolean, "bool", 1, 0},
    {DType::i8, "int8", 1, 0},
}};

const Row& row_of(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t size_of(DType dtype) { return row_of(dtype).size; }
std::string_view name_of(DType dtype) { return row_of(dtype).name; }
bool is_float(DType dtype) { return row_of(dtype).significand_bits > 0; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

double unit_roundoff(DType dtype) {
  const int bits = row_of(dtype).significand_bits;
  return bits == 0 ? 0.0 : std::ldexp(1.0, -bits);
}

}  // namespace headroom
