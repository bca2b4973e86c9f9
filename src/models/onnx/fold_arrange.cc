#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "models/onnx/file.h"
#include "models/onnx/fold.h"
#include "models/onnx/lower.h"
#include "ops/broadcast.h"

namespace headroom::onnx {
namespace {

// Copies elements of one tensor from positions in another: the core of everything that only moves elements.
template <class Place>
ConstantData moved(const Context& c, const ConstantData& from, const Shape& shape, const Place& place) {
  if (shape.numel() > kMaxFolded) c.unsupported("too many elements to compute while reading");
  std::vector<double> reals;
  Ints integers;
  const bool floats = is_float(from.type.dtype);
  for (std::int64_t i = 0; i < shape.numel(); ++i)
    if (floats)
      reals.push_back(from.real(place(i)));
    else
      integers.push_back(from.integer(place(i)));
  return made(c, shape, reals, integers, from.type.dtype);
}

std::int64_t axis_of(const Context& c, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= std::max(rank, 1)) c.invalid(fmt::format("axis {} of {} axes", axis, rank));
  return axis < 0 ? axis + rank : axis;
}

// The same elements with another shape; costs nothing for any number of elements.
ConstantData with_shape(const Context& c, const Ints& dims) {
  ConstantData same = c.known(0);
  same.type.shape = Shape(dims);
  return same;
}

Results fold_reshape(Context& c) {
  const std::optional<Ints> wanted = c.integers_of("shape", 1);
  if (!wanted) c.invalid("it has no shape");
  const Shape from = c.known(0).type.shape;
  Ints dims = *wanted;
  if (dims.size() > Shape::kMaxRank) c.unsupported(fmt::format("a tensor of {} dimensions", dims.size()));
  std::int64_t product = 1;
  for (std::size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] == 0 && c.integer("allowzero", 0) == 0) {
      if (static_cast<int>(a) >= from.rank()) c.invalid("it keeps an axis that does not exist");
      dims[a] = from[static_cast<int>(a)];
    }
    if (dims[a] < -1 || (dims[a] >= 0 && __builtin_mul_overflow(product, dims[a], &product)))
      c.invalid(fmt::format("{} as [{}]", from.str(), fmt::join(*wanted, ",")));
  }
  const auto open = std::ranges::find(dims, -1);
  if (open != dims.end())
    *open = product > 0 && std::ranges::count(dims, -1) == 1 ? from.numel() / product : -1;
  if (std::ranges::count(dims, -1) > 0 || Shape(dims).numel() != from.numel())
    c.invalid(fmt::format("{} as [{}]", from.str(), fmt::join(*wanted, ",")));
  return {with_shape(c, dims)};
}

Results fold_unsqueeze(Context& c) {
  const std::optional<Ints> axes = c.integers_of("axes", 1);
  if (!axes) c.invalid("it names no axes");
  Ints dims = c.known(0).type.shape.vector(), at;
  const int rank = static_cast<int>(dims.size() + axes->size());
  if (rank > Shape::kMaxRank) c.unsupported(fmt::format("a tensor of {} dimensions", rank));
  for (std::int64_t axis : *axes) at.push_back(axis_of(c, axis, rank));
  std::ranges::sort(at);
  if (std::ranges::adjacent_find(at) != at.end()) c.invalid("it names an axis twice");
  for (std::int64_t axis : at) dims.insert(dims.begin() + axis, 1);
  return {with_shape(c, dims)};
}

Results fold_squeeze(Context& c) {
  const Shape from = c.known(0).type.shape;
  const std::optional<Ints> axes = c.integers_of("axes", 1);
  std::vector<bool> gone(static_cast<std::size_t>(from.rank()), false);
  if (axes) {
    for (std::int64_t axis : *axes) gone.at(static_cast<std::size_t>(axis_of(c, axis, from.rank()))) = true;
  }
  Ints dims;
  for (int a = 0; a < from.rank(); ++a) {
    const bool drop = axes ? gone[static_cast<std::size_t>(a)] : from[a] == 1;
    if (drop && from[a] != 1) c.invalid(fmt::format("axis {} of {} is not 1", a, from.str()));
    if (!drop) dims.push_back(from[a]);
  }
  return {with_shape(c, dims)};
}

Results fold_identity(Context& c) { return {c.operand(0)}; }

Results fold_gather(Context& c) {
  c.require_inputs(2, 2);
  const ConstantData &data = c.known(0), &index = c.known(1);
  const Shape from = data.type.shape;
  if (from.rank() == 0) c.invalid("a scalar has no axis");
  const std::int64_t axis = axis_of(c, c.integer("axis", 0), from.rank());
  const Ints all = from.vector(), wanted = index.integers();
  Ints dims(all.begin(), all.begin() + axis);
  for (std::int64_t d : index.type.shape.dims()) dims.push_back(d);
  dims.insert(dims.end(), all.begin() + axis + 1, all.end());
  const std::int64_t extent = from[static_cast<int>(axis)], count = static_cast<std::int64_t>(wanted.size());
  for (std::int64_t i : wanted)
    if (i < -extent || i >= extent) c.invalid(fmt::format("index {} of {}", i, extent));
  std::int64_t inner = 1;
  for (std::size_t a = static_cast<std::size_t>(axis) + 1; a < all.size(); ++a) inner *= all[a];
  return {moved(c, data, checked(c, dims), [&](std::int64_t i) {
    const std::int64_t at = wanted[static_cast<std::size_t>(i / inner % count)];
    return (i / inner / count * extent + (at < 0 ? at + extent : at)) * inner + i % inner;
  })};
}

Results fold_concat(Context& c) {
  const Shape first = c.known(0).type.shape;
  if (first.rank() == 0) c.invalid("scalars cannot be joined");
  const std::int64_t axis = axis_of(c, c.integer("axis", c.opset() < 4 ? 1 : 0), first.rank());
  Ints dims = first.vector();
  std::int64_t &extent = dims[static_cast<std::size_t>(axis)], inner = 1;
  extent = 0;
  for (int a = static_cast<int>(axis) + 1; a < first.rank(); ++a) inner *= first[a];
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    Shape like = c.known(i).type.shape;
    if (like.rank() != first.rank() || c.known(i).type.dtype != c.known(0).type.dtype)
      c.invalid(fmt::format("{} beside {}", like.str(), first.str()));
    extent += like[static_cast<int>(axis)];
    like[static_cast<int>(axis)] = first[static_cast<int>(axis)];
    if (like != first) c.invalid(fmt::format("{} beside {}", c.known(i).type.shape.str(), first.str()));
  }
  const Shape shape = checked(c, dims);
  std::vector<double> reals;
  Ints integers;
  const std::int64_t row = extent * inner;
  for (std::int64_t outer = 0; row > 0 && outer < shape.numel() / row; ++outer)
    for (std::size_t i = 0; i < c.inputs(); ++i) {
      const ConstantData& part = c.known(i);
      const std::int64_t length = part.type.shape[static_cast<int>(axis)] * inner;
      for (std::int64_t k = outer * length; k < (outer + 1) * length; ++k)
        is_float(part.type.dtype) ? reals.push_back(part.real(k)) : integers.push_back(part.integer(k));
    }
  return {made(c, shape, reals, integers, c.known(0).type.dtype)};
}

// One axis at a time: starts and ends beyond the edge are clamped to it.
Results fold_slice(Context& c) {
  const std::optional<Ints> starts = c.integers_of("starts", 1), ends = c.integers_of("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) c.invalid("starts and ends do not match");
  const ConstantData& from = c.known(0);
  const Shape old = from.type.shape;
  Ints axes = c.integers_of("axes", 3).value_or(Ints{}),
       steps = c.has_input(4) ? c.known_integers(4) : Ints{};
  if (axes.empty())
    for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(starts->size(), 1);
  if (axes.size() != starts->size() || steps.size() != starts->size()) c.invalid("its lists do not match");
  Ints dims = old.vector(), first(dims.size(), 0), stride(dims.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axis_of(c, axes[i], old.rank()));
    if (a >= dims.size()) c.invalid("it slices a scalar");
    const std::int64_t n = old[static_cast<int>(a)], step = steps[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) c.invalid("a step of 0");
    auto place = [&](std::int64_t at) { return at < 0 ? std::max(at, -n - 1) + n : std::min(at, n); };
    std::int64_t begin = place((*starts)[i]), end = place((*ends)[i]);
    if (step > 0)
      begin = std::clamp(begin, std::int64_t{0}, n), end = std::clamp(end, std::int64_t{0}, n);
    else
      begin = std::clamp(begin, std::int64_t{-1}, n - 1), end = std::clamp(end, std::int64_t{-1}, n - 1);
    const std::int64_t length = step > 0 ? end - begin : begin - end, size = std::abs(step);
    dims[a] = length <= 0 ? 0 : (length - 1) / size + 1;
    first[a] = begin, stride[a] = step;
  }
  return {moved(c, from, checked(c, dims), [&](std::int64_t i) {
    std::int64_t at = 0, scale = 1;
    for (std::size_t a = dims.size(); a-- > 0;) {
      at += (first[a] + i % dims[a] * stride[a]) * scale;
      i /= dims[a];
      scale *= old[static_cast<int>(a)];
    }
    return at;
  })};
}

Results fold_transpose(Context& c) {
  const ConstantData& from = c.known(0);
  const Shape old = from.type.shape;
  Ints axes;
  for (int a = old.rank(); a-- > 0;) axes.push_back(a);
  axes = c.integers("perm", axes);
  Ints sorted = axes, dims;
  std::ranges::sort(sorted);
  for (std::size_t a = 0; a < sorted.size(); ++a)
    if (std::cmp_not_equal(sorted[a], a)) c.invalid("perm is not a permutation");
  if (std::cmp_not_equal(axes.size(), old.rank())) c.invalid("perm does not match the rank");
  for (std::int64_t a : axes) dims.push_back(old[static_cast<int>(a)]);
  Ints stride(axes.size(), 1);
  for (std::size_t a = axes.size(); a-- > 1;) stride[a - 1] = stride[a] * old[static_cast<int>(a)];
  return {moved(c, from, checked(c, dims), [&](std::int64_t i) {
    std::int64_t at = 0;
    for (std::size_t a = dims.size(); a-- > 0; i /= dims[a])
      at += i % dims[a] * stride[static_cast<std::size_t>(axes[a])];
    return at;
  })};
}

Results fold_expand(Context& c) {
  c.require_inputs(2, 2);
  const ConstantData& from = c.known(0);
  const Ints wanted = c.known_integers(1);
  double elements = 1;
  for (std::int64_t d : wanted) elements *= double(std::max<std::int64_t>(d, 1));
  if (wanted.size() > Shape::kMaxRank) c.unsupported(fmt::format("a tensor of {} dimensions", wanted.size()));
  if (from.count() == 1 && elements <= 0x1p44 && from.type.shape.rank() <= static_cast<int>(wanted.size()) &&
      std::ranges::none_of(wanted, [](std::int64_t d) { return d < 0; })) {
    ConstantData one = from;  // at any size
    one.type.shape = Shape(wanted);
    one.repeated = true;
    return {one};
  }
  const Shape shape = joined(c, from.type.shape, checked(c, wanted));
  return {moved(c, from, shape, [&](std::int64_t i) { return broadcast_index(shape, from.type.shape, i); })};
}

Results fold_range(Context& c) {
  c.require_inputs(3, 3);
  if (!is_float(c.known(0).type.dtype)) {
    const std::int64_t first = c.known(0).integer(0), end = c.known(1).integer(0),
                       step = c.known(2).integer(0);
    Ints list;
    if (step == 0) c.invalid("a step of 0");
    for (std::int64_t v = first; step > 0 ? v < end : v > end;) {
      if (std::cmp_greater_equal(list.size(), kMaxFolded)) c.unsupported("a range of that many numbers");
      list.push_back(v);
      if (__builtin_add_overflow(v, step, &v)) break;
    }
    return {made(c, {static_cast<std::int64_t>(list.size())}, {}, list, c.known(0).type.dtype)};
  }
  const double first = c.known_real(0), step = c.known_real(2);
  const double count = std::max(0.0, std::ceil((c.known_real(1) - first) / step));
  if (!(count <= double(kMaxFolded))) c.unsupported("a range of that many numbers");
  std::vector<double> list;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i)
    list.push_back(first + double(i) * step);
  return {constant_data({static_cast<std::int64_t>(list.size())}, list, c.known(0).type.dtype)};
}

}  // namespace

std::vector<Conversion> folds_that_arrange() {
  return {
      {"Reshape", fold_reshape},   {"Unsqueeze", fold_unsqueeze}, {"Squeeze", fold_squeeze},
      {"Identity", fold_identity}, {"Cast", fold_cast},           {"Gather", fold_gather},
      {"Concat", fold_concat},     {"Slice", fold_slice},         {"Transpose", fold_transpose},
      {"Expand", fold_expand},     {"Range", fold_range},
  };
}

}  // namespace headroom::onnx
