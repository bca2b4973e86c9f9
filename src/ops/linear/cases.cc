#include <array>

#include "ops/linear/linear.h"

namespace headroom {

std::vector<Case> linear_cases() {
  std::vector<Case> list;
  for (auto [n, m, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {5, 3, 7}, {33, 10, 65}, {8, 84, 120}}) {
    list.push_back({.tier = Tier::ci, .inputs = {{n, k}, {m, k}}});
    list.push_back({.tier = Tier::ci, .inputs = {{n, k}, {m, k}, {m}}});
  }
  // Few rows, weights beyond the caches: all kinds of tiles, tails, more than one block of inputs, and more
  // inputs than a cache keeps.
  for (auto [n, m, k] :
       {std::array<std::int64_t, 3>{1, 257, 1030}, {3, 518, 1024}, {7, 131, 2051}, {40, 73, 6011}})
    list.push_back({.tier = Tier::smoke, .inputs = {{n, k}, {m, k}, {m}}});
  list.push_back({.tier = Tier::ci, .inputs = {{2, 3, 7}, {5, 7}, {5}}});
  list.push_back({.tier = Tier::ci, .inputs = {{2, 1, 4, 3}, {2, 3}}});
  // Fused forms are made after differentiation, so they belong to the kernel tests alone.
  for (const char* f : {"relu", "sigmoid", "tanh"})
    list.push_back({.tier = Tier::smoke,
                    .inputs = {{33, 65}, {10, 65}, {10}},
                    .attrs = {{"activation", std::string(f)}},
                    .exact = std::string_view(f) == "relu"});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{9, 17000}, {10, 17000}, {10}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::smoke, .inputs = {{37, 1000}, {10, 1000}, {10}}});
  // Rows that split k among blocks, and tiles with activations: paths of GPUs.
  list.push_back({.tier = Tier::smoke, .inputs = {{20, 2056}, {10, 2056}, {10}}});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{70, 515}, {132, 515}, {132}},
                  .attrs = {{"activation", std::string("tanh")}},
                  .exact = false});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{256, 400}, {120, 400}, {120}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::smoke,  // short sums
                  .inputs = {{2, 70, 13}, {132, 13}, {132}},
                  .attrs = {{"activation", std::string("tanh")}},
                  .exact = false});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{75, 9}, {35, 9}, {35}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::smoke,  // as small as cuda:fp16x3 takes them
                  .inputs = {{651, 500}, {616, 500}, {616}},
                  .attrs = {{"activation", std::string("relu")}}});
  list.push_back({.tier = Tier::perf, .inputs = {{3000, 784}, {512, 784}, {512}}});
  list.push_back({.tier = Tier::perf, .inputs = {{3000, 512}, {10, 512}, {10}}});
  return list;
}

}  // namespace headroom
