#include <cmath>

#include "ops/attention/attention.h"

namespace headroom {
namespace attention_cases_cc {
namespace {

struct Trial {
  Tier tier;
  std::int64_t batch, time, heads, width;
  bool causal = false;
  double scale = 0;  // 0: the usual one
};

// Widths on either side of every kernel's limits, times that fill tiles and that do not.
std::vector<Trial> trials() {
  return {{Tier::ci, 1, 1, 1, 1},
          {Tier::ci, 2, 5, 3, 4},
          {Tier::ci, 2, 5, 3, 4, true},
          {Tier::ci, 1, 9, 2, 7, true, 0.7},
          {Tier::ci, 1, 6, 1, 3, false, -0.5},
          {Tier::smoke, 2, 64, 2, 32, true},
          {Tier::smoke, 1, 65, 2, 64},
          {Tier::smoke, 1, 129, 1, 64, true},
          {Tier::smoke, 1, 97, 1, 80},
          {Tier::smoke, 1, 70, 1, 128, true},
          {Tier::smoke, 1, 33, 1, 136, true},
          {Tier::smoke, 1, 50, 1, 256},
          {Tier::smoke, 1, 40, 1, 300, true},
          {Tier::smoke, 3, 31, 2, 20, true},
          {Tier::smoke, 1, 300, 1, 16},
          {Tier::smoke, 1, 330, 1, 8, true},
          {Tier::smoke, 2, 197, 3, 64},
          {Tier::perf, 64, 197, 3, 64},
          {Tier::perf, 64, 197, 12, 64},
          {Tier::perf, 8, 1024, 12, 64, true},
          {Tier::perf, 4, 4096, 8, 128, true}};
}

}  // namespace
}  // namespace attention_cases_cc

std::vector<Case> attention_cases(bool backward) {
  using namespace attention_cases_cc;
  std::vector<Case> list;
  for (const Trial& t : trials()) {
    Attrs attrs{{"heads", t.heads}};
    if (t.causal) attrs.set("causal", std::int64_t{1});
    if (t.scale != 0) attrs.set("scale", t.scale);
    const Shape qkv{t.batch, t.time, 3 * t.heads * t.width}, y{t.batch, t.time, t.heads * t.width},
        lse{t.batch, t.heads, t.time};
    if (!backward) {
      list.push_back({.tier = t.tier, .inputs = {qkv}, .attrs = attrs});
      continue;
    }
    // What scores of deviation 1 come to: so the weights of a row add up to about 1.
    const Fill sums{Fill::Kind::constant, std::log(double(t.time)) + 0.5};
    list.push_back({.tier = t.tier, .inputs = {y, qkv, y, lse}, .attrs = attrs, .fills = {{}, {}, {}, sums}});
  }
  return list;
}

}  // namespace headroom
