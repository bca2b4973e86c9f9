#include "ops/quantize/quantize.h"

namespace headroom {
namespace quantize_cases_cc {
namespace {

struct Trial {
  Tier tier;
  Shape x, scale;
  Attrs where;
};

std::vector<Trial> trials() {
  const auto axis = [](std::int64_t a) { return Attrs{{"axis", a}}; };
  const auto blocks = [](std::int64_t a, std::int64_t size) { return Attrs{{"axis", a}, {"block", size}}; };
  return {{Tier::smoke, {1}, {1}, {}},
          {Tier::smoke, {7, 5}, Shape{}, {}},
          {Tier::smoke, {40001}, {1}, {}},
          {Tier::smoke, {3, 5, 7, 2}, {5}, axis(1)},
          {Tier::smoke, {3, 5, 7, 2}, {3}, axis(0)},
          {Tier::smoke, {6, 37}, {37}, axis(1)},
          {Tier::smoke, {4, 10, 3}, {4, 3, 3}, blocks(1, 4)},
          {Tier::smoke, {5, 13}, {5, 3}, blocks(1, 5)},
          {Tier::smoke, {12, 9}, {3, 9}, blocks(0, 4)},
          {Tier::perf, {4194304}, {1}, {}},
          {Tier::perf, {32, 64, 56, 56}, {64}, axis(1)},
          {Tier::perf, {4096, 1024}, {1024}, axis(1)}};
}

struct Target8 {
  DType dtype;
  std::int64_t low, high;
};

}  // namespace
}  // namespace quantize_cases_cc

std::vector<Case> quantize_cases(std::string_view op) {
  using namespace quantize_cases_cc;
  constexpr Target8 kTargets[] = {
      {DType::u8, 0, 255}, {DType::i8, -128, 127}, {DType::i8, -8, 7}, {DType::i32, -32768, 32767}};
  const Fill integers{Fill::Kind::label, 100}, scales{Fill::Kind::positive}, zeros{Fill::Kind::label, 5};
  std::vector<Case> list;
  for (const Trial& t : trials())
    for (const Target8& to : kTargets) {
      if (t.tier == Tier::perf && to.dtype != DType::u8) continue;
      Case c{
          .tier = t.tier, .inputs = {t.x, t.scale, t.scale}, .attrs = t.where, .fills = {{}, scales, zeros}};
      c.dtypes = {std::nullopt, std::nullopt, to.dtype};
      if (op != "quantize") c.fills[0] = integers, c.dtypes[0] = op == "requantize" ? DType::i32 : to.dtype;
      if (op != "dequantize") {
        c.attrs.set("to", std::string(name_of(to.dtype)));
        c.attrs.set("low", to.low), c.attrs.set("high", to.high);
      }
      list.push_back(c);
      if (t.tier == Tier::perf || to.dtype != DType::u8 || t.scale.numel() == 1) continue;
      c.inputs[2] = Shape{};  // one zero point for all scales
      list.push_back(std::move(c));
    }
  return list;
}

}  // namespace headroom
