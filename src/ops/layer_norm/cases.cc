#include <algorithm>

#include "ops/layer_norm/layer_norm.h"

namespace headroom {

std::vector<Case> layer_norm_cases(bool backward) {
  std::vector<Case> list;
  auto add = [&](Tier tier, const Shape& x, std::int64_t axis) {
    const auto from = axis < 0 ? axis + x.rank() : axis;
    std::vector<std::int64_t> dims = x.vector(), row(dims.begin() + from, dims.end());
    std::fill(dims.begin() + from, dims.end(), 1);
    const Shape tail(row), saved(dims);
    Case c{.tier = tier, .inputs = {x, tail, tail}, .attrs = {{"axis", axis}}};
    if (backward)
      c.inputs = {x, x, tail, saved, saved}, c.fills = {{}, {}, {}, {}, {Fill::Kind::positive}},
      c.dtypes = {{}, {}, {}, DType::f64, DType::f64};
    list.push_back(std::move(c));
  };
  add(Tier::ci, {2}, -1);
  add(Tier::ci, {4, 1}, -1);
  add(Tier::ci, {3, 5}, -1);
  add(Tier::ci, {70, 16}, 1);
  add(Tier::ci, {2, 3, 37}, -1);
  add(Tier::ci, {4, 3, 5, 7}, 1);
  add(Tier::ci, {3, 4, 6}, -2);
  add(Tier::ci, {6, 7}, 0);
  add(Tier::smoke, {2, 9000}, -1);
  add(Tier::smoke, {3, 4501}, -1);
  add(Tier::smoke, {300, 64}, -1);
  add(Tier::smoke, {1200, 67}, -1);
  add(Tier::perf, {4096, 1024}, -1);
  add(Tier::perf, {512, 512}, -1);
  return list;
}

}  // namespace headroom
