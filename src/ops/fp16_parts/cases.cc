#include <array>

#include "ops/fp16_parts/fp16_parts.h"

namespace headroom {

std::vector<Case> fp16_parts_cases() {
  std::vector<Case> list;
  for (const Shape& shape :
       std::vector<Shape>{{1, 1}, {7, 13}, {33, 64}, {5, 3, 20}, {300, 131}, {2000, 784}})
    for (const std::int64_t parts : {1, 2})
      list.push_back(
          {.tier = Tier::smoke, .inputs = {shape}, .attrs = {{"parts", parts}}, .dtypes = {DType::f32}});
  list.push_back({.tier = Tier::smoke, .inputs = {{300, 131}, {9, 77}}, .dtypes = {DType::f32, DType::f32}});
  list.push_back({.tier = Tier::smoke, .inputs = {{1, 3}, {500, 64}}, .dtypes = {DType::f32, DType::f32}});
  list.push_back({.tier = Tier::smoke,  // nothing but zeros
                  .inputs = {{4, 9}},
                  .fills = {{Fill::Kind::constant, 0}},
                  .dtypes = {DType::f32}});
  list.push_back({.tier = Tier::smoke,  // pixels, though all of them white
                  .inputs = {{4, 9}},
                  .fills = {{Fill::Kind::constant, 77.0 / 255}},
                  .dtypes = {DType::f32}});
  list.push_back({.tier = Tier::perf, .inputs = {{3000, 784}}, .dtypes = {DType::f32}});
  return list;
}

// Scales whose four numbers are equal: of 2 they say two parts, of 1 one.
std::vector<Case> parts_product_cases() {
  std::vector<Case> list;
  const auto add = [&](Tier tier, std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, double a,
                       double b, bool bias, const char* activation) {
    const auto up = [](std::int64_t x) { return (x + 7) / 8 * 8; };
    const auto parts = [](double scale) { return static_cast<std::int64_t>(scale); };
    Case c{.tier = tier,
           .inputs = {ta ? Shape{parts(a), k, up(m)} : Shape{parts(a), m, up(k)},
                      {4},
                      tb ? Shape{parts(b), n, up(k)} : Shape{parts(b), k, up(n)},
                      {4}},
           .attrs = {{"k", k},
                     {"shape", std::vector<std::int64_t>{m, n}},
                     {"trans_a", std::int64_t{ta}},
                     {"trans_b", std::int64_t{tb}}},
           .fills = {{}, {Fill::Kind::constant, a}, {}, {Fill::Kind::constant, b}, {}},
           .dtypes = {DType::f16, DType::f32, DType::f16, DType::f32, DType::f32}};
    if (bias) c.inputs.push_back({n});
    if (*activation != '\0') c.attrs.set("activation", std::string(activation));
    c.exact = std::string_view(activation) != "tanh" && std::string_view(activation) != "sigmoid";
    list.push_back(std::move(c));
  };
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {70, 33, 65}, {130, 140, 600}})
        add(Tier::smoke, m, n, k, ta, tb, 2, 2, false, "");
  for (const double a : {1, 2})
    for (const double b : {1, 2}) {
      add(Tier::smoke, 131, 67, 333, false, true, a, b, true, "relu");
      add(Tier::smoke, 67, 260, 129, true, false, a, b, false, "");
    }
  add(Tier::smoke, 300, 100, 784, false, true, 1, 2, true, "sigmoid");
  add(Tier::smoke, 100, 200, 1200, true, false, 2, 1, true, "tanh");
  add(Tier::perf, 3000, 512, 784, false, true, 2, 2, true, "sigmoid");
  add(Tier::perf, 512, 784, 3000, true, false, 2, 2, false, "");
  return list;
}

}  // namespace headroom
