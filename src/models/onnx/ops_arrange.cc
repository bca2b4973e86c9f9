// Positions of elements: shapes, slices, copies; and tensors that depend only on their shape.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

ConstantData empty_constant(const Shape& shape, DType dtype) {
  return constant_data(shape, std::span<const double>{}, dtype);
}

Results convert_flatten(Context& c) {
  c.require_inputs(1, 1);
  const Shape x = c.shape(0);
  std::int64_t axis = c.integer("axis", 1), rows = 1;
  if (axis < -x.rank() || axis > x.rank()) c.invalid(fmt::format("axis {} of {}", axis, x.str()));
  if (axis < 0) axis += x.rank();
  for (int a = 0; a < axis; ++a) rows *= x[a];
  return {reshaped(c, input(c, 0), {rows, x.numel() / rows})};
}

Results convert_squeeze(Context& c) {
  const Shape x = c.shape(0);
  const auto given_axes = c.integers_of("axes", 1);
  const Ints axes = given_axes ? axes_in(c, *given_axes, x.rank()) : Ints{};
  Ints dims;
  for (int a = 0; a < x.rank(); ++a) {
    const bool named = std::count(axes.begin(), axes.end(), a) > 0;
    if (named && x[a] != 1) c.invalid(fmt::format("axis {} of {} is not 1", a, x.str()));
    if (given_axes ? !named : x[a] != 1) dims.push_back(x[a]);
  }
  return {reshaped(c, input(c, 0), dims)};
}

Results convert_unsqueeze(Context& c) {
  const auto given_axes = c.integers_of("axes", 1);
  if (!given_axes) c.invalid("it names no axes");
  Ints dims = c.shape(0).vector();
  const int rank = static_cast<int>(dims.size() + given_axes->size());
  if (rank > Shape::kMaxRank) c.unsupported(fmt::format("{} axes", rank));
  Ints axes = axes_in(c, *given_axes, rank);
  std::sort(axes.begin(), axes.end());
  for (std::int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
  // An empty vector cannot be reshaped by our operator.
  if (c.is_known(0) && c.shape(0).numel() == 0) return {empty_constant(Shape(dims), c.type(0).dtype)};
  return {reshaped(c, input(c, 0), dims)};
}

Results convert_transpose(Context& c) {
  const int rank = c.shape(0).rank();
  Ints reversed(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < reversed.size(); ++i) reversed[i] = rank - 1 - static_cast<std::int64_t>(i);
  const Ints perm = axes_in(c, c.integers("perm", reversed), rank);
  if (static_cast<int>(perm.size()) != rank) c.invalid("perm does not name every axis");
  if (std::is_sorted(perm.begin(), perm.end())) return {input(c, 0)};
  return {apply(c, "transpose", {input(c, 0)}, {{"perm", perm}})};
}

Results convert_concat(Context& c) {
  return {joined(c, all_inputs(c), axis_in(c, c.integer("axis", 1), c.shape(0).rank()))};
}

Results convert_split(Context& c) {
  const Shape x = c.shape(0);
  const std::int64_t axis = axis_in(c, c.integer("axis", 0), x.rank()), extent = x[static_cast<int>(axis)];
  const auto parts = static_cast<std::int64_t>(c.outputs());
  Ints sizes = c.integers_of("split", 1).value_or(Ints{});
  if (sizes.empty()) {
    const std::int64_t most = (extent + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::max<std::int64_t>(0, std::min(most, extent - i * most)));
  }
  if (static_cast<std::int64_t>(sizes.size()) != parts ||
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != extent)
    c.invalid(fmt::format("{} parts of [{}] of {} elements", parts, fmt::join(sizes, ","), extent));
  Ints full;
  std::ranges::copy_if(sizes, std::back_inserter(full), [](std::int64_t size) { return size > 0; });
  std::vector<Term> pieces = {input(c, 0)};
  if (full.size() > 1) pieces = apply_all(c, "split", pieces, {{"axis", axis}, {"sizes", full}});
  Results results;
  std::size_t next = 0;
  for (const std::int64_t size : sizes) {
    Shape none = x;
    none[static_cast<int>(axis)] = 0;
    if (size > 0)
      results.push_back(pieces.at(next++));
    else
      results.push_back(empty_constant(none, c.type(0).dtype));
  }
  return results;
}

struct Cut {
  std::int64_t start, end, step, count;
};

Cut cut_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const bool up = step > 0;
  start = std::clamp<std::int64_t>(start < 0 ? start + extent : start, up ? 0 : -1, up ? extent : extent - 1);
  end = std::clamp<std::int64_t>(end < 0 ? end + extent : end, up ? 0 : -1, up ? extent : extent - 1);
  const std::int64_t span = up ? end - start : start - end, length = std::abs(step);
  return {start, end, step, span > 0 ? (span - 1) / length + 1 : 0};
}

// Gives our operator positions counted from the front, which are unambiguous.
Results convert_slice(Context& c) {
  const Shape x = c.shape(0);
  const Ints starts = c.required_integers("starts", 1), ends = c.required_integers("ends", 2);
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  axes = axes_in(c, c.integers_of("axes", 3).value_or(axes), x.rank());
  const Ints steps = c.has_input(4) ? c.known_integers(4) : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    c.invalid("starts, ends, axes and steps differ in number");
  Attrs attrs;
  Ints first, last, kept, by;
  Shape y = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = static_cast<int>(axes[i]);
    if (steps[i] == 0) c.invalid("a step of 0");
    const std::int64_t step = std::clamp<std::int64_t>(steps[i], -x[axis] - 1, x[axis] + 1);
    const Cut cut = cut_of(starts[i], ends[i], step, x[axis]);
    y[axis] = cut.count;
    if (cut.count == x[axis] && step > 0) continue;
    first.push_back(cut.start), kept.push_back(axes[i]), by.push_back(step);
    // An end before the first element cannot be written as -1, which means the last element.
    last.push_back(cut.end < 0 ? -x[axis] - 1 : cut.end);
  }
  if (y.numel() == 0) return {empty_constant(y, c.type(0).dtype)};
  if (kept.empty()) return {input(c, 0)};
  return {
      apply(c, "slice", {input(c, 0)}, {{"starts", first}, {"ends", last}, {"axes", kept}, {"steps", by}})};
}

Results convert_gather(Context& c) {
  c.require_inputs(2, 2);
  const std::int64_t axis = axis_in(c, c.integer("axis", 0), c.shape(0).rank());
  const DType indices = c.type(1).dtype;
  if (indices != DType::i32 && indices != DType::i64)
    c.invalid(fmt::format("indices of {}", name_of(indices)));
  if (c.is_known(1) && c.shape(1).numel() == 0) {
    Ints dims = c.shape(0).vector();
    const Ints chosen = c.shape(1).vector();
    dims.erase(dims.begin() + axis);
    dims.insert(dims.begin() + axis, chosen.begin(), chosen.end());
    return {empty_constant(Shape(dims), c.type(0).dtype)};
  }
  return {apply(c, "gather", {input(c, 0), input(c, 1)}, {{"axis", axis}})};
}

Results convert_expand(Context& c) {
  c.require_inputs(2, 2);
  const Ints wanted = c.known_integers(1);
  const Shape x = c.shape(0);
  Ints dims = x.vector(), to = wanted;
  if (dims.size() < to.size()) dims.insert(dims.begin(), to.size() - dims.size(), 1);
  if (to.size() < dims.size()) to.insert(to.begin(), dims.size() - to.size(), 1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != to[i] && dims[i] != 1 && to[i] != 1)
      c.invalid(fmt::format("{} does not stretch to [{}]", x.str(), fmt::join(wanted, ",")));
    if (dims[i] == 1) dims[i] = to[i];
    if (dims[i] < 1) c.unsupported("an empty tensor");
  }
  if (Shape(dims) == x) return {input(c, 0)};
  return {apply(c, "expand", {input(c, 0)}, {{"shape", dims}})};
}

// Each axis in turn: adds an axis of 1 before it, expands that, and merges the two.
Results convert_tile(Context& c) {
  const Shape x = c.shape(0);
  Ints repeats;
  if (c.opset() >= 6) {
    repeats = c.known_integers(1);
  } else {
    repeats.assign(static_cast<std::size_t>(x.rank()), 1);
    repeats[static_cast<std::size_t>(axis_in(c, known_integer(c, 2), x.rank()))] = known_integer(c, 1);
  }
  if (static_cast<int>(repeats.size()) != x.rank()) c.invalid("repeats does not name every axis");
  Term y = input(c, 0);
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t times = repeats[static_cast<std::size_t>(axis)];
    if (times < 1) c.unsupported("an empty tensor");
    need_small(c, times);
    if (times == 1) continue;
    Ints dims = shape_of(c, y).vector();
    std::int64_t before = 1, after = 1;
    for (int a = 0; a < x.rank(); ++a) (a < axis ? before : after) *= dims[static_cast<std::size_t>(a)];
    y = apply(c, "expand", {reshaped(c, y, {before, 1, after})}, {{"shape", Ints{before, times, after}}});
    dims[static_cast<std::size_t>(axis)] *= times;
    y = reshaped(c, y, dims);
  }
  return {y};
}

Results convert_range(Context& c) {
  c.require_inputs(3, 3);
  const DType dtype = c.type(0).dtype;
  if (!is_float(dtype)) {
    const std::int64_t start = known_integer(c, 0), limit = known_integer(c, 1), delta = known_integer(c, 2);
    if (delta == 0) c.invalid("a step of 0");
    // In fp64, which cannot overflow; numbers near its limits are too large anyway.
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    need_small(c, static_cast<std::int64_t>(std::min(count, 1e18)));
    Ints list;
    for (std::int64_t i = 0; static_cast<double>(i) < count; ++i) list.push_back(start + i * delta);
    const Term all = integers({static_cast<std::int64_t>(list.size())}, list);
    return {cast_to(c, all, dtype)};
  }
  const double start = c.known_real(0), limit = c.known_real(1), delta = c.known_real(2);
  if (delta == 0) c.invalid("a step of 0");
  std::vector<double> list;
  const double count = std::ceil((limit - start) / delta);
  if (!(count < 1e18)) c.invalid("its limits are not numbers");
  need_small(c, static_cast<std::int64_t>(count));
  for (double i = 0; i < count; ++i) list.push_back(start + i * delta);
  return {constant_data({static_cast<std::int64_t>(list.size())}, list, master_of(c.dtype()))};
}

ConstantData truth(const Shape& shape, const std::function<bool(std::int64_t, std::int64_t)>& holds) {
  std::vector<double> bits;
  for (std::int64_t i = 0; i < shape[0]; ++i)
    for (std::int64_t j = 0; j < shape[1]; ++j) bits.push_back(holds(i, j) ? 1 : 0);
  return constant_data(shape, bits, DType::boolean);
}

Results convert_trilu(Context& c) {
  const Term x = input(c, 0);
  const Shape shape = shape_of(c, x);
  if (shape.rank() < 2) c.invalid("it needs a matrix");
  need_small(c, shape.numel());
  const std::int64_t k = c.has_input(1) ? known_integer(c, 1) : 0;
  const bool upper = c.integer("upper", 1) != 0;
  const Term kept = truth({shape[shape.rank() - 2], shape[shape.rank() - 1]},
                          [=](std::int64_t i, std::int64_t j) { return upper ? j >= i + k : j <= i + k; });
  return {apply(c, "where", {kept, x, number_like(c, x, 0)})};
}

Results convert_eye_like(Context& c) {
  const Shape shape = c.shape(0);
  if (shape.rank() != 2) c.invalid("it needs a matrix");
  need_small(c, shape.numel());
  const std::int64_t k = c.integer("k", 0);
  const Term bits = truth(shape, [=](std::int64_t i, std::int64_t j) { return j == i + k; });
  if (c.has("dtype")) c.unsupported("another element type than the input's");
  return {cast_to(c, bits, c.type(0).dtype)};
}

// A negative index counts from the end; an index out of range selects no class.
Results convert_one_hot(Context& c) {
  c.require_inputs(3, 3);
  const std::int64_t depth = known_integer(c, 1);
  if (depth < 1) c.unsupported(fmt::format("{} classes", depth));
  need_small(c, depth);
  Ints dims = c.shape(0).vector(), along(dims.size() + 1, 1);
  const std::int64_t axis = axis_in(c, c.integer("axis", -1), static_cast<int>(dims.size()) + 1);
  dims.insert(dims.begin() + axis, 1);
  along[static_cast<std::size_t>(axis)] = depth;
  Ints classes(static_cast<std::size_t>(depth)), from_end;
  std::iota(classes.begin(), classes.end(), std::int64_t{0});
  for (std::int64_t k : classes) from_end.push_back(k - depth);
  const Term index = reshaped(c, cast_to(c, input(c, 0), DType::i64), dims);
  const Term hot = apply(c, "logical_or",
                         {apply(c, "equal", {index, integers(Shape(along), classes)}),
                          apply(c, "equal", {index, integers(Shape(along), from_end)})});
  const Term values = input(c, 2);
  const std::vector<Term> sides =
      apply_all(c, "split", {values}, {{"axis", std::int64_t{0}}, {"sizes", Ints{1, 1}}});
  return {apply(c, "where", {hot, sides[1], sides[0]})};
}

Results convert_depth_to_space(Context& c) {
  const Shape x = c.shape(0);
  const std::int64_t block = c.integer("blocksize");
  if (x.rank() != 4 || block < 1 || block > x[1] / block || x[1] % (block * block) != 0)
    c.invalid(fmt::format("blocks of {}", x.str()));
  const std::int64_t n = x[0], channels = x[1] / (block * block), h = x[2], w = x[3];
  const bool columns = c.text("mode", "DCR") == "DCR";  // depth, column, row; else column, row, depth
  const Term apart =
      reshaped(c, input(c, 0),
               columns ? Ints{n, block, block, channels, h, w} : Ints{n, channels, block, block, h, w});
  const Ints perm = columns ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3};
  return {reshaped(c, apply(c, "transpose", {apart}, {{"perm", perm}}), {n, channels, h * block, w * block})};
}

Results convert_space_to_depth(Context& c) {
  const Shape x = c.shape(0);
  const std::int64_t block = c.integer("blocksize");
  if (x.rank() != 4 || block < 1 || x[2] % block != 0 || x[3] % block != 0)
    c.invalid(fmt::format("blocks of {}", x.str()));
  const std::int64_t n = x[0], channels = x[1], h = x[2] / block, w = x[3] / block;
  const Term apart = reshaped(c, input(c, 0), {n, channels, h, block, w, block});
  const bool columns = c.text("mode", "DCR") == "DCR";  // as above
  const Term turned = transposed(c, apart, columns ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4});
  return {reshaped(c, turned, {n, channels * block * block, h, w})};
}

}  // namespace

std::vector<Conversion> arrange_conversions() {
  return {{"Flatten", convert_flatten},
          {"Squeeze", convert_squeeze},
          {"Unsqueeze", convert_unsqueeze},
          {"Transpose", convert_transpose},
          {"Concat", convert_concat},
          {"Split", convert_split},
          {"Slice", convert_slice},
          {"Gather", convert_gather},
          {"Expand", convert_expand},
          {"Tile", convert_tile},
          {"Range", convert_range},
          {"Trilu", convert_trilu},
          {"EyeLike", convert_eye_like},
          {"OneHot", convert_one_hot},
          {"DepthToSpace", convert_depth_to_space},
          {"SpaceToDepth", convert_space_to_depth}};
}

}  // namespace headroom::onnx
