#include "ops/dropout/dropout.h"

namespace headroom {

std::vector<Case> dropout_cases() {
  std::vector<Case> cases;
  const auto add = [&](Tier tier, const Shape& shape, double rate, std::int64_t first = 0, double step = 3) {
    cases.push_back(
        {.tier = tier,
         .inputs = {shape, {1}},
         .attrs = {{"rate", rate}, {"seed", std::int64_t{11}}, {"key", std::int64_t{2}}, {"first", first}},
         .fills = {{}, {Fill::Kind::constant, step}},
         .dtypes = {std::nullopt, DType::f64}});
  };
  add(Tier::ci, {1}, 0.5);
  add(Tier::ci, {7}, 0.0);
  add(Tier::ci, {64, 10}, 0.25);
  add(Tier::ci, {3, 5, 7, 11}, 0.5, 13);
  add(Tier::ci, {259}, 0.9, 8'000'000'000'001, 1e9);
  add(Tier::smoke, {40000}, 0.1, 130);
  add(Tier::smoke, {5003}, 0.4, 8);
  add(Tier::perf, {4194304}, 0.5);
  add(Tier::perf, {262144}, 0.5);
  return cases;
}

}  // namespace headroom
