#include "ops/cast/cast.h"

namespace headroom {

std::vector<Case> cast_cases() {
  std::vector<Case> list;
  // Gradients are checked by differences in fp64, so only that way round is exact enough for them.
  for (const Shape& shape : std::vector<Shape>{{1}, {7}, {3, 5, 11}})
    list.push_back({.tier = Tier::ci, .inputs = {shape}, .attrs = {{"to", std::string("fp64")}}});
  list.push_back(
      {.tier = Tier::ci, .inputs = {{37}}, .attrs = {{"to", std::string("fp64")}, {"scale", 0.25}}});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{133}},
                  .attrs = {{"to", std::string("fp16")}, {"scale", 4096.0}},
                  .dtypes = {DType::f32}});
  for (const char* through : {"fp16", "bf16"})
    for (DType from : {DType::f64, DType::f32, DType::i64})
      for (const char* to : {"fp64", "fp32"})
        list.push_back({.tier = Tier::smoke,
                        .inputs = {{133}},
                        .attrs = {{"to", std::string(to)}, {"through", std::string(through)}},
                        .fills = {is_float(from) ? Fill{} : Fill{Fill::Kind::label, 3000.0}},
                        .dtypes = {from}});
  constexpr DType kTypes[] = {DType::f64, DType::f32,     DType::i64, DType::i32, DType::u8,
                              DType::i8,  DType::boolean, DType::f16, DType::bf16};
  for (DType from : kTypes)
    for (DType to : kTypes) {
      const Fill fill = is_float(from) ? Fill{}
                                       : Fill{Fill::Kind::label, from == DType::boolean ? 2.0
                                                                 : from == DType::i8    ? 128.0
                                                                                        : 200.0};
      for (Tier tier : {Tier::smoke, Tier::perf}) {
        if (tier == Tier::perf && (is_16bit(from) || is_16bit(to))) continue;  // timed on the CPU too
        list.push_back({.tier = tier,
                        .inputs = {{tier == Tier::smoke ? 133 : 262144}},
                        .attrs = {{"to", std::string(name_of(to))}},
                        .fills = {fill},
                        .dtypes = {from}});
      }
    }
  list.push_back({.tier = Tier::perf, .inputs = {{4194304}}, .attrs = {{"to", std::string("fp64")}}});
  return list;
}

// One and several tensors, more than a launch takes, lengths that are no whole packs.
std::vector<Case> cast_all_cases() {
  std::vector<Case> list;
  for (const char* to : {"fp32", "fp16", "bf16"}) {
    list.push_back({.tier = Tier::smoke, .inputs = {{7}}, .attrs = {{"to", std::string(to)}}});
    list.push_back({.tier = Tier::smoke,
                    .inputs = {{64, 3, 3, 3}, {1}, {10007}, {33}, {8}},
                    .attrs = {{"to", std::string(to)}, {"scale", 0.5}}});
    list.push_back({.tier = Tier::smoke,
                    .inputs = std::vector<Shape>(131, Shape{5}),
                    .attrs = {{"to", std::string(to)}}});
  }
  return list;
}

}  // namespace headroom
