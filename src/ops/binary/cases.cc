#include "ops/binary/binary.h"

namespace headroom {
namespace binary_cases_cc {
namespace {

struct Pair {
  Tier tier;
  Shape a, b;
};

// Equal shapes, one element, rows and columns, both sides stretched, rows too short for a vector.
std::vector<Pair> pairs() {
  return {{Tier::ci, {1}, {1}},
          {Tier::ci, Shape{}, Shape{}},
          {Tier::ci, {7}, {7}},
          {Tier::ci, {64, 10}, {64, 10}},
          {Tier::ci, {3, 5, 7, 11}, {3, 5, 7, 11}},
          {Tier::ci, {1}, {9}},
          {Tier::ci, {5, 3}, Shape{}},
          {Tier::ci, Shape{}, {67}},
          {Tier::ci, {6, 10}, {10}},
          {Tier::ci, {10}, {6, 10}},
          {Tier::ci, {9, 65}, {9, 1}},
          {Tier::ci, {2, 3, 5, 7}, {3, 1, 1}},
          {Tier::ci, {1, 3, 1, 1}, {2, 3, 6, 7}},
          {Tier::ci, {5, 1}, {1, 4}},
          {Tier::ci, {3, 1, 37}, {2, 1}},
          {Tier::ci, {2, 1, 3, 1, 5}, {4, 1, 6, 1}},
          {Tier::smoke, {40000}, {40000}},
          {Tier::smoke, {300, 129}, {129}},
          {Tier::smoke, {8, 16, 28, 28}, {16, 1, 1}},
          {Tier::smoke, {5000, 10}, {10}},
          {Tier::perf, {4194304}, {4194304}},
          {Tier::perf, {262144}, {262144}},
          {Tier::perf, {4194304}, {1}},
          {Tier::perf, {262144}, {1}},
          {Tier::perf, {16, 64, 64, 64}, {64, 1, 1}},
          {Tier::perf, {4096, 1024}, {1024}},
          {Tier::perf, {26214, 10}, {10}}};
}

// Divisors keep away from 0, and bases of powers are positive, so that differences exist.
std::vector<Case> element_cases(std::string_view op) {
  const Fill positive{Fill::Kind::positive};
  std::vector<Case> cases;
  for (const Pair& pair : pairs()) {
    Case c{.tier = pair.tier, .inputs = {pair.a, pair.b}};
    if (op == "div") c.fills = {{}, positive};
    if (op == "pow") c.fills = {positive};
    if (op == "mod") c.fills = {{Fill::Kind::digit, 40}, {Fill::Kind::constant, 7}};
    cases.push_back(c);
  }
  if (op != "pow")  // zeros among the divisors
    for (DType dtype : {DType::i64, DType::i32}) {
      Case c{.tier = Tier::smoke,
             .inputs = {{3, 1, 37}, {2, 1}},
             .fills = {{Fill::Kind::digit, 100}, {Fill::Kind::digit, 7}},
             .dtypes = {dtype, dtype}};
      cases.push_back(c);
      c.inputs = {{9, 65}, {9, 65}};
      cases.push_back(c);
    }
  if (op == "pow")
    for (double e : {-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 2.5})
      cases.push_back(
          {.tier = Tier::ci, .inputs = {{3, 23}, {1}}, .fills = {positive, {Fill::Kind::constant, e}}});
  return cases;
}

// Shifts by 0 to 69: beyond the bits of either type.
std::vector<Case> bit_cases(std::string_view op) {
  const bool shifts = op.starts_with("shift");
  std::vector<Case> cases;
  for (const Pair& pair : pairs())
    for (DType dtype : {DType::i64, DType::i32}) {
      Case c{.tier = pair.tier,
             .inputs = {pair.a, pair.b},
             .fills = {{Fill::Kind::digit, 1e9}, {Fill::Kind::digit, shifts ? 70.0 : 1e9}},
             .dtypes = {dtype, dtype}};
      cases.push_back(c);
      if (op != "shift_right") continue;
      c.attrs.set("logical", std::int64_t{1});
      c.fills[0] = {Fill::Kind::constant, -7};
      cases.push_back(c);
    }
  return cases;
}

std::vector<Case> grad_cases() {
  const Fill positive{Fill::Kind::positive};
  std::vector<Case> cases;
  for (const Pair& pair : pairs()) {
    if (pair.a.numel() < pair.b.numel() || pair.a.rank() < pair.b.rank()) continue;
    if (pair.a == Shape{5, 1} || pair.b == Shape{4, 1, 6, 1} || pair.b == Shape{2, 1}) continue;
    cases.push_back(
        {.tier = pair.tier, .inputs = {pair.a, pair.a, pair.b}, .fills = {{}, positive, positive}});
    cases.push_back(
        {.tier = pair.tier, .inputs = {pair.a, pair.b, pair.a}, .fills = {{}, positive, positive}});
  }
  cases.push_back(
      {.tier = Tier::ci, .inputs = {{41}, {41}, {1}}, .fills = {{}, positive, {Fill::Kind::constant, 2}}});
  return cases;
}

}  // namespace
}  // namespace binary_cases_cc

std::vector<Case> binary_cases(std::string_view op) {
  using namespace binary_cases_cc;
  if (op.starts_with("bit_") || op.starts_with("shift_")) return bit_cases(op);
  return op.starts_with("pow_grad") ? grad_cases() : element_cases(op);
}

}  // namespace headroom
