#include "ops/integer_product/integer_product.h"

namespace headroom {
namespace integer_product_cases_cc {
namespace {

constexpr DType kPairs[][2] = {
    {DType::u8, DType::i8}, {DType::i8, DType::i8}, {DType::u8, DType::u8}, {DType::i8, DType::u8}};

double values_of(DType dtype) { return dtype == DType::u8 ? 256 : 128; }

Case with_types(Tier tier, std::vector<Shape> shapes, const Attrs& attrs, DType first, DType second) {
  return {.tier = tier,
          .inputs = std::move(shapes),
          .attrs = attrs,
          .fills = {{Fill::Kind::digit, values_of(first)},
                    {Fill::Kind::digit, values_of(second)},
                    {Fill::Kind::digit, values_of(first)},
                    {Fill::Kind::digit, values_of(second)}},
          .dtypes = {first, second, first, second}};
}

}  // namespace
}  // namespace integer_product_cases_cc

std::vector<Case> matmul_integer_cases() {
  using namespace integer_product_cases_cc;
  struct Trial {
    Tier tier;
    Shape a, b, zero_a, zero_b;
  };
  const Trial trials[] = {{Tier::smoke, {1, 1}, {1, 1}, Shape{}, Shape{}},
                          {Tier::smoke, {3, 5}, {5, 7}, {1}, {7}},
                          {Tier::smoke, {7, 4}, {4, 64}, {7}, {64}},
                          {Tier::smoke, {13, 66}, {66, 65}, {13}, Shape{}},
                          {Tier::smoke, {2, 3, 4, 9}, {9, 6}, Shape{}, {6}},
                          {Tier::smoke, {2, 3, 4, 9}, {9, 6}, {4}, {6}},
                          {Tier::smoke, {3, 5, 4}, {1, 4, 2}, {1}, {1}},
                          {Tier::smoke, {5}, {5, 3}, {1}, {3}},
                          {Tier::smoke, {6, 5}, {5}, {6}, {1}},
                          {Tier::smoke, {200, 130}, {130, 20}, {200}, {20}},
                          {Tier::smoke, {33, 1000}, {1000, 300}, Shape{}, {300}},
                          {Tier::smoke, {150, 260}, {260, 132}, {150}, {132}},
                          {Tier::smoke, {130, 400}, {400, 80}, {130}, {80}},
                          {Tier::smoke, {65, 32}, {32, 144}, {1}, Shape{}},
                          {Tier::smoke, {3, 17, 48}, {3, 48, 64}, {17}, {64}},
                          {Tier::smoke, {67, 129, 72}, {67, 72, 20}, {129}, {20}},
                          {Tier::smoke, {67, 5, 80}, {1, 80, 141}, {5}, {141}}};
  std::vector<Case> list;
  for (const auto& [first, second] : kPairs)
    for (const Trial& t : trials)
      list.push_back(with_types(t.tier, {t.a, t.b, t.zero_a, t.zero_b}, {}, first, second));
  for (std::int64_t n : {256, 512, 1024, 2048})
    list.push_back(with_types(Tier::perf, {{n, n}, {n, n}, Shape{}, Shape{}}, {}, DType::u8, DType::i8));
  list.push_back(
      with_types(Tier::perf, {{1, 1024}, {1024, 4096}, Shape{}, {4096}}, {}, DType::u8, DType::i8));
  return list;
}

std::vector<Case> conv2d_integer_cases() {
  using namespace integer_product_cases_cc;
  using Ints = std::vector<std::int64_t>;
  struct Trial {
    Tier tier;
    Shape x, w, zero_w;
    Attrs attrs;
  };
  const Attrs same{{"pads", Ints{1, 1, 1, 1}}};
  const Trial trials[] = {
      {Tier::smoke, {1, 1, 3, 3}, {1, 1, 2, 2}, Shape{}, {}},
      {Tier::smoke, {2, 3, 7, 6}, {4, 3, 3, 3}, {4}, same},
      {Tier::smoke, {1, 4, 9, 8}, {6, 2, 3, 2}, {6}, {{"groups", std::int64_t{2}}, {"strides", Ints{2, 1}}}},
      {Tier::smoke, {3, 8, 5, 5}, {5, 8, 1, 1}, {1}, {}},
      {Tier::smoke,
       {2, 6, 7, 7},
       {6, 1, 3, 3},
       {6},
       {{"groups", std::int64_t{6}}, {"pads", Ints{1, 1, 1, 1}}}},
      {Tier::smoke,
       {1, 2, 11, 10},
       {3, 2, 3, 3},
       Shape{},
       {{"dilations", Ints{2, 3}}, {"pads", Ints{2, 0, 1, 3}}}},
      {Tier::smoke, {1, 16, 14, 14}, {70, 16, 3, 3}, {70}, same}};
  std::vector<Case> list;
  for (const auto& [first, second] : kPairs)
    for (const Trial& t : trials)
      list.push_back(with_types(t.tier, {t.x, t.w, Shape{}, t.zero_w}, t.attrs, first, second));
  list.push_back(
      with_types(Tier::perf, {{1, 64, 56, 56}, {64, 64, 3, 3}, Shape{}, {64}}, same, DType::u8, DType::i8));
  list.push_back(with_types(Tier::perf, {{8, 256, 14, 14}, {256, 256, 3, 3}, Shape{}, {256}}, same, DType::u8,
                            DType::i8));
  return list;
}

}  // namespace headroom
