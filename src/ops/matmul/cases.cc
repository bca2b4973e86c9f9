#include <array>

#include "ops/matmul/matmul.h"

namespace headroom {

std::vector<Case> matmul_cases() {
  std::vector<Case> list;
  const Attrs plain{}, ta{{"trans_a", std::int64_t{1}}}, tb{{"trans_b", std::int64_t{1}}},
      both{{"trans_a", std::int64_t{1}}, {"trans_b", std::int64_t{1}}};
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 5, 7}, {37, 41, 43}, {64, 10, 129}}) {
    list.push_back({.tier = Tier::ci, .inputs = {{m, k}, {k, n}}, .attrs = plain});
    list.push_back({.tier = Tier::ci, .inputs = {{k, m}, {k, n}}, .attrs = ta});
    list.push_back({.tier = Tier::ci, .inputs = {{m, k}, {n, k}}, .attrs = tb});
    list.push_back({.tier = Tier::ci, .inputs = {{k, m}, {n, k}}, .attrs = both});
  }
  auto add = [&](Tier tier, Shape a, Shape b, const Attrs& attrs) {
    list.push_back({.tier = tier, .inputs = {a, b}, .attrs = attrs});
  };
  add(Tier::ci, {4, 3, 5}, {4, 5, 2}, plain);
  add(Tier::ci, {2, 3, 5, 4}, {2, 3, 5, 6}, ta);
  add(Tier::ci, {2, 3, 4, 5}, {2, 3, 6, 5}, tb);
  add(Tier::ci, {3, 5, 4}, {3, 6, 5}, both);
  add(Tier::ci, {2, 3, 4, 5}, {5, 6}, plain);  // the batch folds into rows
  add(Tier::ci, {2, 3, 4, 5}, {6, 5}, tb);
  add(Tier::ci, {3, 4, 5}, {1, 5, 2}, plain);
  add(Tier::ci, {7}, {7}, plain);
  add(Tier::ci, {7}, {7, 3}, plain);
  add(Tier::ci, {4, 7}, {7}, plain);
  add(Tier::ci, {2, 3, 7}, {7}, plain);
  add(Tier::ci, {7}, {3, 7, 2}, plain);
  add(Tier::ci, {2, 1, 4, 5}, {3, 5, 6}, plain);  // both sides are broadcast
  add(Tier::ci, {5, 4}, {2, 3, 5, 6}, ta);
  add(Tier::ci, {2, 4, 5}, {4, 6}, ta);
  add(Tier::smoke, {24, 33, 17}, {24, 29, 17}, tb);
  add(Tier::smoke, {3, 130, 140}, {3, 140, 150}, plain);
  add(Tier::smoke, {617, 751}, {751, 433}, plain);  // as small as cuda:fp16x3 takes them
  add(Tier::smoke, {500, 10}, {500, 132}, ta);      // a last layer's weights: few rows, long sums
  add(Tier::smoke, {520, 76}, {520, 9}, ta);
  add(Tier::smoke, {1100, 10}, {1100, 70}, ta);  // sums that blocks share
  add(Tier::smoke, {1300, 40}, {9, 1300}, both);
  add(Tier::smoke, {2, 20000}, {3, 20000}, tb);
  add(Tier::smoke, {50, 701}, {16, 701}, tb);        // more than is in registers at a time
  add(Tier::smoke, {203, 1100}, {1100, 10}, plain);  // few columns that lie across k
  add(Tier::smoke, {12, 1030}, {70, 1030}, tb);
  add(Tier::smoke, {260, 72}, {136, 72}, tb);
  // Sums of a few terms, over several blocks and past whole packs; the forms with a slope are made after
  // differentiation, so they belong to the kernel tests alone.
  add(Tier::smoke, {300, 10}, {10, 132}, plain);
  add(Tier::smoke, {10, 45}, {10, 66}, ta);
  add(Tier::smoke, {131, 16}, {30, 16}, tb);
  add(Tier::smoke, {3, 33, 12}, {3, 12, 137}, plain);
  add(Tier::smoke, {2, 4, 70}, {2, 19, 4}, both);
  auto add_slope = [&](const char* name, Shape a, Shape b, Shape y, Attrs attrs) {
    attrs.set("activation_grad", std::string(name));
    const bool relu = std::string_view(name) == "relu";
    list.push_back({.tier = Tier::smoke,
                    .inputs = {a, b, y},
                    .attrs = attrs,
                    .fills = {{}, {}, {relu ? Fill::Kind::normal : Fill::Kind::positive}},
                    .exact = relu});
  };
  for (const char* name : {"relu", "sigmoid", "tanh"}) {
    add_slope(name, {70, 10}, {10, 84}, {70, 84}, plain);
    add_slope(name, {37, 33}, {33, 41}, {37, 41}, plain);
  }
  add_slope("sigmoid", {50, 7}, {7, 33}, {50, 33}, plain);
  add_slope("relu", {500, 10}, {500, 132}, {10, 132}, ta);
  add_slope("tanh", {260, 72}, {136, 72}, {260, 136}, tb);
  add_slope("sigmoid", {3, 20, 8}, {3, 8, 24}, {3, 20, 24}, plain);
  add_slope("tanh", {2, 1, 20, 5}, {3, 5, 6}, {2, 3, 20, 6}, plain);
  add(Tier::perf, {2048, 2048}, {2048, 2048}, plain);
  add(Tier::perf, {800, 1000}, {1000, 10}, plain);
  add(Tier::perf, {3000, 10}, {10, 512}, plain);
  add(Tier::perf, {3000, 10}, {3000, 512}, ta);
  add(Tier::perf, {3000, 512}, {3000, 784}, ta);
  add(Tier::perf, {96, 128, 64}, {96, 128, 64}, tb);  // scores of eight sequences, twelve heads each
  add(Tier::perf, {96, 128, 128}, {96, 128, 64}, plain);
  return list;
}

}  // namespace headroom
