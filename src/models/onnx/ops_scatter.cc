// Scatters: rows or elements of a tensor replaced by updates, or combined with them.

#include <algorithm>
#include <array>

#include "models/onnx/places.h"

namespace headroom::onnx {
namespace {

// `data` with rows replaced: row k of the updates goes to places[k]. With known places this is a row-by-row
// choice between two tensors; the last update of a place wins.
Term replaced(Context& c, const Term& data, const Term& updates, const Ints& places, std::int64_t rows,
              std::int64_t inner) {
  Ints from(static_cast<std::size_t>(rows), 0);
  std::vector<double> taken(static_cast<std::size_t>(rows), 0);
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (places[k] < 0 || places[k] >= rows) c.invalid("an index out of range");
    from[static_cast<std::size_t>(places[k])] = static_cast<std::int64_t>(k);
    taken[static_cast<std::size_t>(places[k])] = 1;
  }
  const auto count = static_cast<std::int64_t>(places.size());
  const Term moved = apply(c, "gather", {reshaped(c, updates, {count, inner}), integers({rows}, from)},
                           {{"axis", std::int64_t{0}}});
  const Term mask = constant_data({rows, 1}, taken, DType::boolean);
  const Term y = apply(c, "where", {mask, moved, reshaped(c, data, {rows, inner})});
  return reshaped(c, y, shape_of(c, data).vector());
}

// The data as rows of `inner` elements, each place the number of one.
Results scattered(Context& c, const Term& places, std::int64_t inner) {
  const Term data = input(c, 0), updates = input(c, 2);
  const std::int64_t rows = shape_of(c, data).numel() / inner, count = shape_of(c, places).numel();
  if (shape_of(c, updates).numel() != count * inner)
    c.invalid(fmt::format("updates {} for indices {}", shape_of(c, updates).str(), c.shape(1).str()));
  const std::string how = c.text("reduction", "none");
  constexpr std::array<std::string_view, 5> kKnown = {"none", "add", "mul", "max", "min"};
  if (std::ranges::find(kKnown, how) == kKnown.end())
    c.invalid(fmt::format("reduction '{}' is not one of {}", how, fmt::join(kKnown, ", ")));
  if (places.known && how == "none") {
    need_small(c, rows);
    return {replaced(c, data, updates, places.known->integers(), rows, inner)};
  }
  const Term wide = how == "none" ? data : wide_integers(c, data),
             more = how == "none" ? updates : wide_integers(c, updates);
  const Term y = apply(
      c, "scatter",
      {reshaped(c, wide, {rows, inner}), reshaped(c, places, {count}), reshaped(c, more, {count, inner})},
      {{"reduction", how}});
  return {cast_to(c, reshaped(c, y, shape_of(c, data).vector()), type_of(c, data).dtype)};
}

Results convert_scatter_nd(Context& c) {
  c.require_inputs(3, 3);
  const Shape data = c.shape(0), indices = c.shape(1);
  const std::int64_t depth = indices.rank() < 1 ? 0 : indices[indices.rank() - 1];
  if (depth < 1 || depth > data.rank())
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  if (indices.numel() == 0 || data.numel() == 0) return {input(c, 0)};
  need_small(c, indices.numel());
  return scattered(c, row_places(c, input(c, 1), data),
                   strides_of(data)[static_cast<std::size_t>(depth - 1)]);
}

Results convert_scatter_elements(Context& c) {
  c.require_inputs(3, 3);
  const Shape data = c.shape(0), indices = c.shape(1);
  if (data.rank() != indices.rank() || data.rank() < 1 || c.shape(2) != indices)
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  const int axis = static_cast<int>(axis_in(c, c.integer("axis", 0), data.rank()));
  if (data.numel() == 0) return {input(c, 0)};
  need_small(c, data.numel());
  return scattered(c, element_places(c, input(c, 1), data, axis), 1);
}

// The update of each batch goes to rows of the cache from an index of its own on; a circular cache goes on at
// its front. Row p of the result is row p - index of the update, if that has one.
Results convert_tensor_scatter(Context& c) {
  c.require_inputs(2, 3);
  const Shape cache = c.shape(0), update = c.shape(1);
  const int rank = cache.rank();
  const int axis = static_cast<int>(axis_in(c, c.integer("axis", -2), rank));
  const std::string mode = c.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    c.invalid(fmt::format("mode is '{}', not linear or circular", mode));
  if (cache.numel() == 0) return {input(c, 0)};
  if (rank != update.rank() || axis == 0 || update[axis] > cache[axis])
    c.invalid(fmt::format("an update {} of a cache {}", update.str(), cache.str()));
  const std::int64_t batch = cache[0], rows = cache[axis], given = update[axis],
                     inner = strides_of(cache)[static_cast<std::size_t>(axis)],
                     middle = cache.numel() / (batch * rows * inner);
  if (update.numel() != batch * middle * given * inner || update[0] != batch)
    c.invalid(fmt::format("an update {} of a cache {}", update.str(), cache.str()));
  const Term zero = integers({}, {0});
  const Term first = c.has_input(2) ? reshaped(c, cast_to(c, input(c, 2), DType::i64), {batch, 1, 1}) : zero;
  Term from = apply(c, "sub", {positions(rows, 2, 3), first});
  if (mode == "circular") from = apply(c, "mod", {from, integers({}, {rows})}, {{"fmod", std::int64_t{0}}});
  const Term inside =
      apply(c, "logical_and",
            {apply(c, "less", {from, integers({}, {given})}), apply(c, "less", {integers({}, {-1}), from})});
  const Term updated = apply(c, "add",
                             {apply(c, "mul", {positions(batch, 0, 3), integers({}, {middle * given})}),
                              apply(c, "mul", {positions(middle, 1, 3), integers({}, {given})})});
  const Term places = apply(c, "add", {updated, apply(c, "where", {inside, from, zero})});
  const Term moved = apply(c, "gather",
                           {reshaped(c, input(c, 1), {batch * middle * given, inner}),
                            reshaped(c, places, {batch * middle * rows})},
                           {{"axis", std::int64_t{0}}});
  const Ints whole = {batch, middle, rows, inner};
  const Term y = apply(c, "where",
                       {reshaped(c, inside, {c.has_input(2) ? batch : 1, 1, rows, 1}),
                        reshaped(c, moved, whole), reshaped(c, input(c, 0), whole)});
  return {reshaped(c, y, cache.vector())};
}

}  // namespace

std::vector<Conversion> scatter_conversions() {
  return {{"ScatterND", convert_scatter_nd},
          {"ScatterElements", convert_scatter_elements},
          {"Scatter", convert_scatter_elements},
          {"TensorScatter", convert_tensor_scatter}};
}

}  // namespace headroom::onnx
