#include <utility>

#include "ops/gather/gather.h"

namespace headroom {
namespace gather_cases_cc {
namespace {

struct Trial {
  Tier tier;
  Shape data, indices;
  std::int64_t axis;
  DType dtype = DType::i32;
};

std::vector<Trial> trials() {
  return {{Tier::ci, {1}, {1}, 0},
          {Tier::ci, {5}, Shape{}, 0},
          {Tier::ci, {10, 3}, {7}, 0, DType::i64},
          {Tier::ci, {10, 37}, {2, 5}, 0},
          {Tier::ci, {4, 9}, {6}, 1},
          {Tier::ci, {2, 5, 3}, {2, 4}, 1, DType::i64},
          {Tier::ci, {3, 4, 5}, {3, 2}, -1},
          {Tier::ci, {3, 300}, {17}, 0},
          {Tier::smoke, {1000, 65}, {40, 25}, 0},
          {Tier::smoke, {50, 512}, {300}, 0, DType::i64},
          {Tier::smoke, {3000, 5}, {20000}, 0},
          {Tier::smoke, {9, 60, 70}, {80}, 1},
          {Tier::smoke, {3, 40}, {5000}, 0},  // each named many times over
          {Tier::perf, {30000, 768}, {32, 128}, 0, DType::i64},
          {Tier::perf, {30000, 64}, {65536}, 0}};
}

}  // namespace
}  // namespace gather_cases_cc

std::vector<Case> gather_cases(bool backward) {
  using namespace gather_cases_cc;
  std::vector<Case> list;
  for (const Trial& t : trials()) {
    const Attrs attrs{{"axis", t.axis}};
    const auto extent = double(t.data[static_cast<int>(t.axis < 0 ? t.axis + t.data.rank() : t.axis)]);
    Case c{.tier = t.tier,
           .inputs = {t.data, t.indices},
           .attrs = attrs,
           .fills = {{}, {Fill::Kind::label, extent}},
           .dtypes = {std::nullopt, t.dtype}};
    if (backward) {
      c.inputs[0] = gather_schema().infer({{t.data, DType::f32}, {t.indices, t.dtype}}, attrs)[0].shape;
      c.attrs.set("input_shape", t.data.vector());
    }
    list.push_back(std::move(c));
  }
  return list;
}

}  // namespace headroom
