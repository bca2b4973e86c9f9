#include "ops/pool/pool.h"

namespace headroom {
namespace pool_cases_cc {
namespace {

using Integers = std::vector<std::int64_t>;

struct PoolCase {
  Tier tier;
  Shape input;
  Attrs attrs;
};

const std::vector<PoolCase>& windows() {
  static const auto attr = [](std::int64_t v) { return Attr{v}; };
  static const std::vector<PoolCase> list = {
      {Tier::ci, {2, 3, 8, 8}, {{"kernel", Integers{2, 2}}}},
      {Tier::ci, {1, 1, 2, 2}, {{"kernel", Integers{2, 2}}}},
      {Tier::ci, {2, 2, 7, 11}, {{"kernel", Integers{2, 2}}}},   // odd: a row and a column are left over
      {Tier::ci, {2, 3, 28, 28}, {{"kernel", Integers{2, 2}}}},  // LeNet: 14 windows in a row
      {Tier::ci, {1, 2, 6, 70}, {{"kernel", Integers{2, 2}}}},
      {Tier::ci, {2, 2, 7, 9}, {{"kernel", Integers{2, 2}}, {"ceil_mode", attr(1)}}},
      {Tier::ci,
       {2, 3, 11, 13},
       {{"kernel", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}},
      {Tier::ci,
       {2, 3, 11, 13},
       {{"kernel", Integers{3, 3}},
        {"strides", Integers{2, 2}},
        {"pads", Integers{1, 1, 1, 1}},
        {"count_include_pad", attr(1)}}},
      {Tier::ci,
       {1, 2, 10, 6},
       {{"kernel", Integers{3, 2}},
        {"strides", Integers{3, 1}},
        {"pads", Integers{2, 0, 1, 1}},
        {"ceil_mode", attr(1)},
        {"count_include_pad", attr(1)}}},
      {Tier::ci, {1, 3, 9, 9}, {{"kernel", Integers{3, 3}}, {"strides", Integers{1, 1}}}},
      {Tier::ci,
       {1, 2, 9, 12},
       {{"kernel", Integers{2, 3}}, {"strides", Integers{1, 1}}, {"dilations", Integers{3, 2}}}},
      {Tier::ci, {1, 2, 10, 9}, {{"kernel", Integers{3, 3}}, {"auto_pad", std::string("same_upper")}}},
      {Tier::ci, {2, 5, 7, 7}, {{"kernel", Integers{7, 7}}}},  // global
      {Tier::smoke,
       {1, 1, 3, 4500},
       {{"kernel", Integers{2, 3}}, {"strides", Integers{1, 2}}}},  // longer than a buffered row
      {Tier::ci, {1, 2, 4, 16}, {{"kernel", Integers{2, 2}}}},      // eight of 16 bits at once
      {Tier::smoke, {3, 2, 20, 30}, {{"kernel", Integers{9, 11}}, {"strides", Integers{3, 4}}}},
      {Tier::smoke, {9, 6, 28, 28}, {{"kernel", Integers{2, 2}}}},  // large enough to share among threads
      {Tier::smoke,
       {3, 8, 28, 28},
       {{"kernel", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}},
      {Tier::perf, {256, 6, 28, 28}, {{"kernel", Integers{2, 2}}}},
      {Tier::perf, {256, 16, 10, 10}, {{"kernel", Integers{2, 2}}}},
      {Tier::perf,
       {32, 64, 112, 112},
       {{"kernel", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}},
  };
  return list;
}

Shape pooled(const PoolCase& c) {
  const auto kernel = c.attrs.integers("kernel");
  const Window2d w = parse_window(c.attrs, c.input, kernel[0], kernel[1], DefaultStride::kernel);
  return {c.input[0], c.input[1], w.output.h, w.output.w};
}

std::vector<Case> forward_cases() {
  std::vector<Case> list;
  for (const PoolCase& c : windows()) list.push_back({.tier = c.tier, .inputs = {c.input}, .attrs = c.attrs});
  return list;
}

std::vector<Case> max_grad_cases() {
  std::vector<Case> list;
  std::size_t number = 0;
  for (const PoolCase& c : windows()) {
    list.push_back({.tier = c.tier, .inputs = {pooled(c), c.input, pooled(c)}, .attrs = c.attrs});
    // Behind an activation too: relu where numbers are exact, or one of the others in turn.
    if (c.tier == Tier::perf) continue;
    Case behind = list.back();
    behind.attrs.set("activation_grad", std::string(kActivations[number++ % kActivations.size()].name));
    list.push_back(std::move(behind));
  }
  return list;
}

std::vector<Case> avg_grad_cases() {
  std::vector<Case> list;
  for (const PoolCase& c : windows()) {
    list.push_back({.tier = c.tier, .inputs = {pooled(c)}, .attrs = c.attrs});
    list.back().attrs.set("input_shape", c.input.vector());
  }
  return list;
}

}  // namespace
}  // namespace pool_cases_cc

std::vector<Case> pool_cases(std::string_view op) {
  using namespace pool_cases_cc;
  if (op == "max_pool_grad") return max_grad_cases();
  return op == "avg_pool_grad" ? avg_grad_cases() : forward_cases();
}

}  // namespace headroom
