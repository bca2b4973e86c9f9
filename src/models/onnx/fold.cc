#include "models/onnx/fold.h"

#include <algorithm>

#include "models/onnx/file.h"
#include "models/onnx/lower.h"

namespace headroom::onnx {

ConstantData made(const Context& c, const Shape& shape, const std::vector<double>& reals,
                  const Ints& integers, DType dtype) {
  if (shape.numel() > kMaxFolded) c.unsupported("too many elements to compute while reading");
  const ConstantData wide =
      is_float(dtype) ? constant_data(shape, reals, DType::f64) : constant_data(shape, integers);
  const DType kept = is_float(dtype) ? DType::f64 : DType::i64;
  if (dtype == kept) return wide;
  if (is_float(dtype)) return constant_data(shape, reals, dtype);
  std::vector<double> as_reals;  // other integers are exact in fp64
  for (const std::int64_t value : integers) {
    if (dtype == DType::i32)
      as_reals.push_back(static_cast<std::int32_t>(value));
    else if (dtype == DType::i8)
      as_reals.push_back(static_cast<std::int8_t>(value));
    else
      as_reals.push_back(dtype == DType::u8 ? static_cast<std::uint8_t>(value) : value != 0);
  }
  return constant_data(shape, as_reals, dtype);
}

Shape checked(const Context& c, const Ints& dims) {
  double elements = 1;
  for (std::int64_t d : dims) {
    if (d < 0) c.invalid(fmt::format("a tensor of [{}]", fmt::join(dims, ",")));
    elements *= double(d);
  }
  if (dims.size() > Shape::kMaxRank || elements > double(kMaxFolded))
    c.unsupported(fmt::format("a tensor of [{}]", fmt::join(dims, ",")));
  return Shape(dims);
}

Shape joined(const Context& c, const Shape& a, const Shape& b) {
  Ints dims;
  const int rank = std::max(a.rank(), b.rank());
  for (int i = 0; i < rank; ++i) {
    const int ia = i - rank + a.rank(), ib = i - rank + b.rank();
    const std::int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) c.invalid(fmt::format("{} with {}", a.str(), b.str()));
    dims.push_back(da == 1 ? db : da);
  }
  return checked(c, dims);
}

const Conversion* find_fold(std::string_view domain, std::string_view op) {
  static const std::vector<Conversion> all = [] {
    std::vector<Conversion> list = folds_that_arrange();
    for (const Conversion& fold : folds_that_compute()) list.push_back(fold);
    return list;
  }();
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  const auto it = std::ranges::find(all, op, &Conversion::op);
  return it == all.end() ? nullptr : &*it;
}

}  // namespace headroom::onnx
