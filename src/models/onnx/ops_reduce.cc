// Sums, products and searches along axes.

#include <algorithm>
#include <limits>
#include <numeric>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

struct Axes {
  Ints list;  // empty: nothing is reduced
  bool keep = true;
};

// An attribute up to opset 12 (ReduceSum) or 17, then an input. If absent: all axes, or none on request.
Axes axes_of(const Context& c) {
  const int rank = c.shape(0).rank();
  Axes axes{.list = {}, .keep = c.integer("keepdims", 1) != 0};
  const auto named = c.integers_of("axes", 1);
  if (named && !named->empty()) {
    axes.list = axes_in(c, *named, rank);
    std::sort(axes.list.begin(), axes.list.end());
  } else if (c.integer("noop_with_empty_axes", 0) == 0) {
    axes.list.resize(static_cast<std::size_t>(rank));
    std::iota(axes.list.begin(), axes.list.end(), std::int64_t{0});
  }
  return axes;
}

Attrs attrs_of(const Axes& axes) {
  return {{"axes", axes.list}, {"keepdims", std::int64_t{axes.keep ? 1 : 0}}};
}

// The mean of integers is their sum, divided without its fraction.
Term reduced(Context& c, std::string_view op, const Term& x, const Axes& axes) {
  if (axes.list.empty()) return x;
  if (op != "reduce_mean" || is_float(type_of(c, x).dtype)) return of_numbers(c, op, {x}, attrs_of(axes));
  double count = 1;
  for (const std::int64_t axis : axes.list)
    count *= static_cast<double>(shape_of(c, x)[static_cast<int>(axis)]);
  return apply(c, "div", {reduced(c, "reduce_sum", x, axes), number_like(c, x, count)});
}

Results convert_plain(Context& c, std::string_view op) { return {reduced(c, op, input(c, 0), axes_of(c))}; }

// The largest becomes the smallest. -1 - x exists for every integer, -x does not.
Term mirrored(Context& c, const Term& x) {
  if (is_float(type_of(c, x).dtype)) return apply(c, "neg", {x});
  need_number(c, x);
  return apply(c, "sub", {number_like(c, x, -1), x});
}

Results convert_min(Context& c) {
  const Axes axes = axes_of(c);
  const Term x = input(c, 0);
  if (axes.list.empty()) return {x};
  const Term y = mirrored(c, reduced(c, "reduce_max", mirrored(c, wide_integers(c, x)), axes));
  return {cast_to(c, y, type_of(c, x).dtype)};
}

Term squared(Context& c, const Term& x) { return apply(c, "mul", {x, x}); }

Results convert_sum_square(Context& c) {
  need_number(c, input(c, 0));
  return {reduced(c, "reduce_sum", squared(c, input(c, 0)), axes_of(c))};
}

Results convert_l1(Context& c) {
  need_float(c, input(c, 0));
  return {reduced(c, "reduce_sum", apply(c, "abs", {input(c, 0)}), axes_of(c))};
}

Results convert_l2(Context& c) {
  need_float(c, input(c, 0));
  return {apply(c, "sqrt", {reduced(c, "reduce_sum", squared(c, input(c, 0)), axes_of(c))})};
}

Results convert_log_sum(Context& c) {
  need_float(c, input(c, 0));
  return {apply(c, "log", {reduced(c, "reduce_sum", input(c, 0), axes_of(c))})};
}

Term without(Context& c, const Term& x, const Axes& axes) {
  if (axes.keep) return x;
  Ints dims;
  const Shape shape = shape_of(c, x);
  for (int a = 0; a < shape.rank(); ++a)
    if (!std::binary_search(axes.list.begin(), axes.list.end(), a)) dims.push_back(shape[a]);
  return reshaped(c, x, dims);
}

// Subtracts the max first, so that nothing overflows. An infinite max would leave inf - inf: it stays.
Results convert_log_sum_exp(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  Axes axes = axes_of(c);
  if (axes.list.empty()) return {x};
  const Axes kept{axes.list, true};
  const Term largest = reduced(c, "reduce_max", x, kept);
  const Term infinite =
      apply(c, "equal", {apply(c, "abs", {largest}), number(c, std::numeric_limits<double>::infinity())});
  const Term most = apply(c, "where", {infinite, number(c, 0), largest});
  const Term sum = reduced(c, "reduce_sum", apply(c, "exp", {apply(c, "sub", {x, most})}), kept);
  return {without(c, apply(c, "add", {apply(c, "log", {sum}), most}), axes)};
}

// The first half of an axis times the second, until one element is left.
Term product_along(Context& c, Term y, std::int64_t axis) {
  for (std::int64_t left; (left = shape_of(c, y)[static_cast<int>(axis)]) > 1;) {
    const std::int64_t half = left / 2;
    const Term both = apply(c, "mul", {sliced(c, y, axis, 0, half), sliced(c, y, axis, half, 2 * half)});
    y = left % 2 == 0 ? both : joined(c, {both, sliced(c, y, axis, 2 * half, left)}, axis);
  }
  return y;
}

Results convert_prod(Context& c) {
  Term y = input(c, 0);
  need_number(c, y);
  const Axes axes = axes_of(c);
  if (c.shape(0).numel() == 0 && c.shape(0).rank() == 1)
    return {constant_data(axes.keep ? Shape{1} : Shape{}, Ints{1})};
  if (c.shape(0).numel() == 0) c.unsupported("a product of nothing");
  for (std::int64_t axis : axes.list) y = product_along(c, y, axis);
  return {without(c, y, axes)};
}

// Each element times the one `step` before it, with steps of 1, 2, 4, …: then it holds all before it.
Results convert_cumprod(Context& c) {
  c.require_inputs(2, 2);
  const Term x = input(c, 0);
  need_number(c, x);
  const Shape shape = shape_of(c, x);
  const std::int64_t axis = axis_in(c, known_integer(c, 1), shape.rank());
  const std::int64_t extent = shape[static_cast<int>(axis)];
  const bool back = c.integer("reverse", 0) != 0;
  // The elements `step` earlier, with ones at the beginning.
  const auto earlier = [&](const Term& y, std::int64_t step) {
    Ints dims = shape.vector();
    dims[static_cast<std::size_t>(axis)] = step;
    const Term ones = apply(c, "expand", {number_like(c, y, 1)}, {{"shape", dims}});
    return step == extent ? ones : joined(c, {ones, sliced(c, y, axis, 0, extent - step)}, axis);
  };
  Term y = back ? reversed(c, x, axis) : x;
  if (c.integer("exclusive", 0) != 0) y = earlier(y, 1);
  for (std::int64_t step = 1; step < extent; step *= 2) y = apply(c, "mul", {y, earlier(y, step)});
  return {back ? reversed(c, y, axis) : y};
}

Results convert_arg(Context& c, std::string_view op) {
  const std::int64_t axis = axis_in(c, c.integer("axis", 0), c.shape(0).rank());
  return {apply(c, op, {input(c, 0)},
                {{"axis", axis},
                 {"keepdims", c.integer("keepdims", 1)},
                 {"select_last_index", c.integer("select_last_index", 0)}})};
}

Results convert_cumsum(Context& c) {
  c.require_inputs(2, 2);
  need_number(c, input(c, 0));
  const std::int64_t axis = axis_in(c, known_integer(c, 1), c.shape(0).rank());
  return {apply(
      c, "cumsum", {input(c, 0)},
      {{"axis", axis}, {"exclusive", c.integer("exclusive", 0)}, {"reverse", c.integer("reverse", 0)}})};
}

Results convert_matmul(Context& c) {
  c.require_inputs(2, 2);
  need_float(c, input(c, 0));
  const Term a = input(c, 0), b = input(c, 1);
  if (!b.known)
    if (const ValueId weight = c.untransposed_parameter(b.value); weight != kNone)
      return {apply(c, "matmul", {a, weight}, {{"trans_b", std::int64_t{1}}})};
  return {apply(c, "matmul", {a, b})};
}

}  // namespace

std::vector<Conversion> reduce_conversions() {
  return {{"ReduceSum", [](Context& c) { return convert_plain(c, "reduce_sum"); }},
          {"ReduceMean", [](Context& c) { return convert_plain(c, "reduce_mean"); }},
          {"ReduceMax", [](Context& c) { return convert_plain(c, "reduce_max"); }},
          {"ReduceMin", convert_min},
          {"ReduceProd", convert_prod},
          {"ReduceSumSquare", convert_sum_square},
          {"ReduceL1", convert_l1},
          {"ReduceL2", convert_l2},
          {"ReduceLogSum", convert_log_sum},
          {"ReduceLogSumExp", convert_log_sum_exp},
          {"ArgMax", [](Context& c) { return convert_arg(c, "arg_max"); }},
          {"ArgMin", [](Context& c) { return convert_arg(c, "arg_min"); }},
          {"CumSum", convert_cumsum},
          {"CumProd", convert_cumprod},
          {"MatMul", convert_matmul}};
}

}  // namespace headroom::onnx
