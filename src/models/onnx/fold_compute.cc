#include <algorithm>
#include <cmath>

#include "models/onnx/fold.h"
#include "ops/broadcast.h"

namespace headroom::onnx {
namespace {

Results fold_where(Context& c) {
  c.require_inputs(3, 3);
  const ConstantData &pick = c.known(0), &yes = c.known(1), &no = c.known(2);
  const Shape shape = joined(c, joined(c, pick.type.shape, yes.type.shape), no.type.shape);
  std::vector<double> reals;
  Ints integers;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const ConstantData& from = pick.integer(broadcast_index(shape, pick.type.shape, i)) != 0 ? yes : no;
    const std::int64_t at = broadcast_index(shape, from.type.shape, i);
    is_float(from.type.dtype) ? reals.push_back(from.real(at)) : integers.push_back(from.integer(at));
  }
  if (yes.type.dtype != no.type.dtype) c.invalid("its two sides differ in type");
  return {made(c, shape, reals, integers, yes.type.dtype)};
}

// Two operands, broadcast. Up to opset 6 an attribute aligned them; only graphs of that time use it.
template <class OnIntegers, class OnReals>
ConstantData combined(Context& c, const ConstantData& a, const ConstantData& b, const OnIntegers& on_integers,
                      const OnReals& on_reals, std::optional<DType> result = {}) {
  if (c.opset() < 7 && c.has("axis")) c.unsupported("broadcasting from an axis on");
  const Shape shape = joined(c, a.type.shape, b.type.shape);
  if (is_float(a.type.dtype) != is_float(b.type.dtype)) c.invalid("its two sides differ in type");
  std::vector<double> reals;
  Ints integers;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const std::int64_t ia = broadcast_index(shape, a.type.shape, i),
                       ib = broadcast_index(shape, b.type.shape, i);
    if (!is_float(a.type.dtype))
      integers.push_back(static_cast<std::int64_t>(on_integers(a.integer(ia), b.integer(ib))));
    else if (result)
      integers.push_back(static_cast<std::int64_t>(on_reals(a.real(ia), b.real(ib))));
    else
      reals.push_back(on_reals(a.real(ia), b.real(ib)));
  }
  return made(c, shape, reals, integers, result.value_or(a.type.dtype));
}

std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }

template <auto OnIntegers, auto OnReals>
Results fold_pair(Context& c) {
  c.require_inputs(2, 2);
  return {combined(c, c.known(0), c.known(1), OnIntegers, OnReals)};
}

template <auto Compare>
Results fold_compare(Context& c) {
  c.require_inputs(2, 2);
  return {combined(c, c.known(0), c.known(1), Compare, Compare, DType::boolean)};
}

std::int64_t divided(std::int64_t a, std::int64_t b) {
  if (b == 0) reject("a shape is divided by 0");
  return b == -1 ? wrap(-std::uint64_t(a)) : a / b;
}

Results fold_mod(Context& c) {
  c.require_inputs(2, 2);
  const bool like_c = c.integer("fmod", 0) != 0;
  auto integers = [&](std::int64_t a, std::int64_t b) {
    const std::int64_t rest = b == -1 ? 0 : a - divided(a, b) * b;
    return !like_c && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  };
  return {combined(c, c.known(0), c.known(1), integers, [](double a, double b) { return std::fmod(a, b); })};
}

template <bool kLargest>
Results fold_extreme(Context& c) {
  auto pick = [](auto a, auto b) { return (kLargest ? a > b : a < b) || a != a ? a : b; };  // any NaN wins
  ConstantData all = c.known(0);
  for (std::size_t i = 1; i < c.inputs(); ++i) all = combined(c, all, c.known(i), pick, pick);
  return {all};
}

template <auto OnIntegers, auto OnReals>
Results fold_each(Context& c) {
  c.require_inputs(1, 1);
  const ConstantData& from = c.known(0);
  std::vector<double> reals;
  Ints integers;
  for (std::int64_t i = 0; i < from.count(); ++i)
    is_float(from.type.dtype) ? reals.push_back(OnReals(from.real(i)))
                              : integers.push_back(OnIntegers(from.integer(i)));
  return {made(c, from.type.shape, reals, integers, from.type.dtype)};
}

// Over all elements, or along one axis of a list: the reductions that shapes need.
template <auto Join>
Results fold_reduce(Context& c) {
  const ConstantData& from = c.known(0);
  const std::optional<Ints> axes = c.integers_of("axes", 1);
  if (is_float(from.type.dtype) || from.type.shape.rank() > 1 || from.count() == 0)
    c.unsupported("a reduction of more than a list");
  if (!axes && c.integer("noop_with_empty_axes", 0) != 0) return {from};
  std::int64_t all = from.integer(0);
  for (std::int64_t i = 1; i < from.count(); ++i) all = Join(all, from.integer(i));
  const bool keep = c.integer("keepdims", 1) != 0 && from.type.shape.rank() == 1;
  return {made(c, keep ? Shape{1} : Shape{}, {}, Ints{all}, from.type.dtype)};
}

constexpr auto kAdd = [](std::int64_t a, std::int64_t b) {
  return wrap(std::uint64_t(a) + std::uint64_t(b));
};
constexpr auto kSub = [](std::int64_t a, std::int64_t b) {
  return wrap(std::uint64_t(a) - std::uint64_t(b));
};
constexpr auto kMul = [](std::int64_t a, std::int64_t b) {
  return wrap(std::uint64_t(a) * std::uint64_t(b));
};
constexpr auto kDiv = [](std::int64_t a, std::int64_t b) { return divided(a, b); };
constexpr auto kAddR = [](double a, double b) { return a + b; };
constexpr auto kSubR = [](double a, double b) { return a - b; };
constexpr auto kMulR = [](double a, double b) { return a * b; };
constexpr auto kDivR = [](double a, double b) { return a / b; };
constexpr auto kAnd = [](std::int64_t a, std::int64_t b) { return std::int64_t{a != 0 && b != 0}; };
constexpr auto kOr = [](std::int64_t a, std::int64_t b) { return std::int64_t{a != 0 || b != 0}; };
constexpr auto kLogicR = [](double, double) { return 0.0; };
constexpr auto kNeg = [](std::int64_t a) { return wrap(-std::uint64_t(a)); };
constexpr auto kAbs = [](std::int64_t a) { return a < 0 ? wrap(-std::uint64_t(a)) : a; };
constexpr auto kSame = [](std::int64_t a) { return a; };
constexpr auto kNot = [](std::int64_t a) { return std::int64_t{a == 0}; };
constexpr auto kNegR = [](double a) { return -a; };
constexpr auto kAbsR = [](double a) { return std::abs(a); };
constexpr auto kFloorR = [](double a) { return std::floor(a); };
constexpr auto kCeilR = [](double a) { return std::ceil(a); };
constexpr auto kSqrtR = [](double a) { return std::sqrt(a); };
constexpr auto kLarger = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
constexpr auto kSmaller = [](std::int64_t a, std::int64_t b) { return std::min(a, b); };
constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kNotGreater = [](auto a, auto b) { return a <= b; };
constexpr auto kNotLess = [](auto a, auto b) { return a >= b; };

}  // namespace

std::vector<Conversion> folds_that_compute() {
  return {
      {"Where", fold_where},
      {"Add", fold_pair<kAdd, kAddR>},
      {"Sub", fold_pair<kSub, kSubR>},
      {"Mul", fold_pair<kMul, kMulR>},
      {"Div", fold_pair<kDiv, kDivR>},
      {"And", fold_pair<kAnd, kLogicR>},
      {"Or", fold_pair<kOr, kLogicR>},
      {"Mod", fold_mod},
      {"Max", fold_extreme<true>},
      {"Min", fold_extreme<false>},
      {"Equal", fold_compare<kEqual>},
      {"Less", fold_compare<kLess>},
      {"Greater", fold_compare<kGreater>},
      {"LessOrEqual", fold_compare<kNotGreater>},
      {"GreaterOrEqual", fold_compare<kNotLess>},
      {"Neg", fold_each<kNeg, kNegR>},
      {"Abs", fold_each<kAbs, kAbsR>},
      {"Floor", fold_each<kSame, kFloorR>},
      {"Ceil", fold_each<kSame, kCeilR>},
      {"Sqrt", fold_each<kSame, kSqrtR>},
      {"Not", fold_each<kNot, kNegR>},
      {"ReduceProd", fold_reduce<kMul>},
      {"ReduceSum", fold_reduce<kAdd>},
      {"ReduceMax", fold_reduce<kLarger>},
      {"ReduceMin", fold_reduce<kSmaller>},
  };
}

}  // namespace headroom::onnx
