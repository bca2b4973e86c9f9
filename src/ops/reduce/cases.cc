#include "ops/reduce/reduce.h"

namespace headroom {
namespace reduce_cases_cc {
namespace {

using Axes = std::vector<std::int64_t>;

struct Trial {
  Tier tier;
  Shape shape;
  Axes axes;
  std::int64_t keepdims = 1;
};

// All, trailing, leading and middle axes, several at once, rows too short for a vector, more than one chunk.
std::vector<Trial> trials() {
  return {{Tier::ci, {1}, {}},
          {Tier::ci, Shape{}, {}},
          {Tier::ci, {7}, {0}, 0},
          {Tier::ci, {3, 1, 5}, {1}},
          {Tier::ci, {6, 10}, {}, 0},
          {Tier::ci, {6, 37}, {-1}},
          {Tier::ci, {37, 6}, {0}, 0},
          {Tier::ci, {130, 3}, {0}},
          {Tier::ci, {3, 5, 7}, {1}},
          {Tier::ci, {2, 3, 5, 7}, {0, 2, 3}},
          {Tier::ci, {2, 3, 5, 7}, {-1, -3}, 0},
          {Tier::ci, {2, 3, 2, 3, 2, 3}, {0, 2, 4}},
          {Tier::smoke, {3000}, {}},
          {Tier::smoke, {2, 2500}, {1}},
          {Tier::smoke, {60, 129}, {0}},
          {Tier::smoke, {4000, 2}, {0}},
          {Tier::smoke, {40, 1100}, {0}},
          {Tier::smoke, {3, 2000, 3}, {1}},
          {Tier::smoke, {2, 3, 33, 65}, {0, 2, 3}},
          {Tier::smoke, {70000}, {}},
          {Tier::smoke, {300, 200}, {0}},
          {Tier::smoke, {2000, 9}, {1}},
          {Tier::smoke, {1500, 20, 3}, {1}},
          {Tier::perf, {4194304}, {}},
          {Tier::perf, {262144}, {}},
          {Tier::perf, {4096, 1024}, {1}},
          {Tier::perf, {4096, 1024}, {0}},
          {Tier::perf, {256, 1024}, {1}},
          {Tier::perf, {256, 1024}, {0}},
          {Tier::perf, {26214, 10}, {0}},
          {Tier::perf, {16, 64, 64, 64}, {1}},
          {Tier::perf, {16, 64, 64, 64}, {0, 2, 3}}};
}

Attrs attrs_of(const Trial& t) {
  Attrs attrs;
  if (!t.axes.empty()) attrs.set("axes", t.axes);
  if (t.keepdims == 0) attrs.set("keepdims", t.keepdims);
  return attrs;
}

std::vector<Case> reductions() {
  std::vector<Case> cases;
  for (const Trial& t : trials())
    cases.push_back({.tier = t.tier, .inputs = {t.shape}, .attrs = attrs_of(t)});
  return cases;
}

std::vector<Case> reductions_of_numbers() {
  std::vector<Case> cases = reductions();
  for (const Trial& t : trials())
    for (DType dtype : {DType::i64, DType::i32})
      if (t.tier != Tier::perf)
        cases.push_back({.tier = Tier::smoke,  // there is no gradient to check
                         .inputs = {t.shape},
                         .attrs = attrs_of(t),
                         .fills = {{Fill::Kind::digit, 100}},
                         .dtypes = {dtype}});
  return cases;
}

// A third of the digits 0, 1 and 2 equals a maximum of 1; a result without any gets NaN from either kernel.
std::vector<Case> max_gradients() {
  std::vector<Case> cases;
  for (const Trial& t : trials()) {
    const Shape y = reduce_schema("reduce_max").infer({{t.shape, DType::f32}}, attrs_of(t))[0].shape;
    cases.push_back({.tier = t.tier,
                     .inputs = {y, t.shape, y},
                     .attrs = attrs_of(t),
                     .fills = {{}, {Fill::Kind::digit, 3}, {Fill::Kind::constant, 1}}});
  }
  return cases;
}

std::vector<Case> expansions() {
  const auto expand = [](Tier tier, Shape from, Axes to, double scale = 1) {
    Attrs attrs{{"shape", std::move(to)}};
    if (scale != 1) attrs.set("scale", scale);
    return Case{.tier = tier, .inputs = {from}, .attrs = attrs};
  };
  const auto bytes = [&](DType dtype) {
    Case c = expand(Tier::smoke, {3, 1, 2}, {4, 1, 5, 1});
    c.fills = {{Fill::Kind::digit, 9}}, c.dtypes = {dtype};
    return c;
  };
  return {bytes(DType::i64),
          bytes(DType::i32),
          bytes(DType::boolean),
          expand(Tier::ci, {1}, {7}),
          expand(Tier::ci, Shape{}, {3, 5}),
          expand(Tier::ci, {5}, {1}, 0.5),
          expand(Tier::ci, {3, 1}, {3, 37}, 0.25),
          expand(Tier::ci, {37}, {3, 37}),
          expand(Tier::ci, {3, 1, 2}, {4, 1, 5, 1}),
          expand(Tier::smoke, {16, 1, 1}, {4, 16, 28, 28}, 0.125),
          expand(Tier::perf, {1}, {4194304}),
          expand(Tier::perf, {1024}, {4096, 1024}),
          expand(Tier::perf, {256, 1}, {256, 1024})};
}

}  // namespace
}  // namespace reduce_cases_cc

std::vector<Case> reduce_cases(std::string_view op) {
  using namespace reduce_cases_cc;
  if (op == "expand") return expansions();
  if (op == "reduce_max_grad") return max_gradients();
  return op == "reduce_mean" ? reductions() : reductions_of_numbers();
}

}  // namespace headroom
